#include "simulator/cli/scenario_input.h"

#include <CLI/CLI.hpp>

#include "simulator/io/scenario_file.h"
#include "traces/import/open_trace.h"
#include "traces/io/input.h"

namespace kvplan::cli {

void add_scenario_options(CLI::App& command, ScenarioInput& input) {
  command.add_option("input", input.path, "Scenario (JSON or .kvs) or trace")->required();
  command.add_option("--set", input.sets, "PATH=VALUE: change one value of the scenario; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
}

Result<std::vector<plan::Setting>> read_settings(const ScenarioInput& input) {
  std::vector<plan::Setting> settings;
  KVPLAN_TRY(const auto file, traces::Input::open(input.path));
  const bool scenario = io::looks_like_scenario(file->peek(4096));
  if (file->failed()) return file->error();
  if (scenario) {
    KVPLAN_TRY(settings, io::read_scenario(*file));
  } else {
    settings.push_back({"workload.trace", input.path, {}, 0});
  }
  for (const std::string& text : input.sets) {
    KVPLAN_TRY(plan::Setting setting, plan::parse_setting(text));
    settings.push_back(std::move(setting));
  }
  return settings;
}

Result<traces::Trace> read_trace_of(const plan::Scenario& scenario) {
  if (scenario.trace.empty())
    return bad_input("names no trace; give --set workload.trace=FILE").at_field("workload.trace");
  return traces::open_trace(scenario.trace);
}

}  // namespace kvplan::cli
