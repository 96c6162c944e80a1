// What `run`, `compare` and others take: a scenario file or a bare trace, and --set.
#pragma once

#include <string>
#include <vector>

#include "simulator/cli/options.h"
#include "simulator/scenario/scenario.h"
#include "simulator/study/inputs.h"
#include "traces/io/input.h"
#include "traces/record/trace.h"

namespace kvplan::cli {

struct ScenarioInput {
  std::string path;               ///< scenario file or trace
  traces::ImportOptions import;   ///< of the trace
  std::vector<std::string> sets;  ///< PATH=VALUE
  std::string prices;             ///< path of a price list
};

/// `input`, `--set`, `--prices` and those of import_options.h. The place must live as long as the command.
void add_scenario_options(Command& command, ScenarioInput& input);

/// True if the file is a scenario, or was meant as one: by its name (.json, .kvs) or since it begins with {,
/// unless it can be read as a trace. Errors then speak of a scenario. What it says of a file that cannot be
/// read means nothing: ask `failed` of it.
bool is_scenario(traces::Input& file);

/// Settings in the order in which they count: the file's (or the bare trace as workload.trace), then the options
/// of the import, then --set, then --prices.
Result<std::vector<plan::Setting>> read_settings(const ScenarioInput& input);

/// What of it was given beside the file, as options of a command line with a space before each.
std::string scenario_flags(const ScenarioInput& input);

/// The trace of a scenario. `flags` are the options of the import that were given as such. Errors: none is named, or
/// it cannot be read; what the scenario says of the import is blamed by its path.
Result<traces::Trace> read_trace_of(const plan::Scenario& scenario, const traces::ImportOptions& flags);

/// The files of many runs from the disk: traces as read_trace_of reads them; reading ends when the user asks to stop.
plan::InputReaders input_readers(const traces::ImportOptions& flags);

}  // namespace kvplan::cli
