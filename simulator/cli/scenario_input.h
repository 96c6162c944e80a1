// The input of `run`, `compare` and others: a scenario file or a bare trace, and --set.
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
  std::string path;               ///< a scenario file or a trace
  traces::ImportOptions import;   ///< options for reading the trace
  std::vector<std::string> sets;  ///< PATH=VALUE
  std::string prices;             ///< path of a price list
};

/// Adds `input`, `--set`, `--prices` and the options of import_options.h. `input` must live as long as the command.
void add_scenario_options(Command& command, ScenarioInput& input);

/// True: the file is a scenario, or was meant as one (by its name, .json or .kvs, or because it begins with {) and
/// cannot be read as a trace. Error messages then call it a scenario. For a file that cannot be read the result has no
/// meaning: check `failed`.
bool is_scenario(traces::Input& file);

/// Settings in order of precedence, last wins: the file's (or the bare trace as workload.trace), then import options,
/// then --set, then --prices.
Result<std::vector<runs::Setting>> read_settings(const ScenarioInput& input);

/// The options that were given in addition to the file, in command-line form with a space before each.
std::string scenario_flags(const ScenarioInput& input);

/// Reads the trace of a scenario. `flags`: import options from the command line. Errors: none is named, or it cannot
/// be read; errors about the scenario's import settings have their path.
Result<traces::Trace> read_trace_of(const runs::Scenario& scenario, const traces::ImportOptions& flags);

/// Reads the files of many runs from the disk: traces as in read_trace_of; reading ends when the user asks to stop.
runs::InputReaders input_readers(const traces::ImportOptions& flags);

}  // namespace kvplan::cli
