// Runs of scenarios given as settings, with all outputs as one text, for runs that must be equal.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "simulator/results/report.h"
#include "simulator/run/run.h"

namespace kvplan::test {

/// REQUIRES: the settings are valid.
inline runs::Scenario scenario_of(const std::vector<std::string>& texts) {
  std::vector<runs::Setting> settings;
  for (const std::string& text : texts) settings.push_back(runs::parse_setting(text).value());
  auto scenario = runs::resolve(settings);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  return std::move(scenario).value();
}

/// Report, requests and timeline as text, or the error.
inline std::string text_of(const Result<runs::RunResult>& result) {
  if (!result.ok()) return result.error().to_string();
  return runs::report_json(result.value()) + runs::requests_csv(result.value()) +
         runs::timeline_csv(result.value());
}

inline std::string outputs(const runs::Scenario& scenario, const traces::Trace& trace, bool step_by_step,
                           int threads = 1) {
  runs::RunOptions options;
  options.step_by_step = step_by_step;
  options.threads = threads;
  options.timeline_bins = 7;
  options.request_memory = true;
  return text_of(runs::run_scenario(scenario, trace, options));
}

}  // namespace kvplan::test
