// What `run`, `compare` and others take: a scenario file or a bare trace, and --set.
#pragma once

#include <string>
#include <vector>

#include "simulator/plan/scenario.h"
#include "traces/record/trace.h"

namespace CLI {
class App;  // <CLI/CLI.hpp>, for the .cpp files
}

namespace kvplan::cli {

struct ScenarioInput {
  std::string path;               ///< scenario file or trace
  std::vector<std::string> sets;  ///< PATH=VALUE
};

/// `input` and `--set`. The place must live as long as the command.
void add_scenario_options(CLI::App& command, ScenarioInput& input);

/// Settings in the order in which they count: the file's (or the bare trace as workload.trace), then --set.
Result<std::vector<plan::Setting>> read_settings(const ScenarioInput& input);

/// The trace of a scenario. Errors: none is named, or it cannot be read.
Result<traces::Trace> read_trace_of(const plan::Scenario& scenario);

}  // namespace kvplan::cli
