// A whole run of a trace, with settings as for --set.
#pragma once

#include <string>
#include <vector>

#include "simulator/run/run.h"

namespace kvplan::test {

/// Options for the memory of each request, and a timeline.
inline runs::RunOptions watched() {
  runs::RunOptions options;
  options.request_memory = true;
  options.timeline_bins = 20;
  return options;
}

/// Errors: those of the scenario and of the run.
inline Result<runs::RunResult> try_run(const traces::Trace& trace, const std::vector<std::string>& sets,
                                       bool step_by_step = false, runs::RunOptions options = watched()) {
  std::vector<runs::Setting> settings;
  for (const std::string& text : sets) settings.push_back(runs::parse_setting(text).value());
  options.step_by_step = step_by_step;
  const auto scenario = runs::resolve(settings);
  if (!scenario.ok()) return scenario.error();
  return runs::run_scenario(scenario.value(), trace, options);
}

}  // namespace kvplan::test
