#include "simulator/cli/scenario_input.h"

#include "simulator/cli/command.h"
#include "simulator/cli/import_options.h"
#include "simulator/cli/trace_input.h"
#include "simulator/io/device_file.h"
#include "simulator/io/openers.h"
#include "simulator/io/scenario_file.h"
#include "simulator/report/number_text.h"
#include "traces/import/importer.h"
#include "traces/io/input.h"
#include "traces/io/kvt.h"

namespace kvplan::cli {

void add_scenario_options(Command& command, ScenarioInput& input) {
  command.add_option("input", input.path, "Scenario (JSON or .kvs) or trace")->required();
  command
      .add_option("--set", input.sets,
                  "PATH=VALUE: change one value of the scenario; may be repeated. `kvplan list scenario` "
                  "lists the paths. Example: targets.percentiles_s=ttft.p99=2,tpot.p50=0.05")
      ->repeatable()
      ->one_value_each();
  command.add_option(
      "--prices", input.prices,
      "Price list (JSON, simulator/io/PRICE_FORMAT.md) for the cost of a run; same as --set prices=FILE");
  add_import_options(command, input.import);
}

bool is_scenario(traces::Input& file) {
  if (file.peek(1).empty()) return false;
  if (io::looks_like_scenario(file.peek(4096))) return true;
  if (traces::looks_like_kvt(file)) return false;
  const traces::Sniff head = traces::sniff(file);
  for (const traces::Importer* importer : traces::importers())
    if (importer->recognises(head)) return false;
  if (io::is_named(file.path(), ".json") || io::is_named(file.path(), ".kvs")) return true;
  // Nor is it a line of an unknown table: it is JSON over several lines that no importer knows, or broken JSON.
  const std::string_view begin = file.peek(4096);
  const std::size_t first = begin.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return (head.shape == traces::Sniff::Shape::kUnknown ||
          head.shape == traces::Sniff::Shape::kJsonDocument) &&
         first != std::string_view::npos && begin[first] == '{';
}

Result<std::vector<runs::Setting>> read_settings(const ScenarioInput& input) {
  std::vector<runs::Setting> settings;
  const auto add = [&](const char* path, std::string text, const char* option) {
    settings.push_back({path, std::move(text), {}, 0});
    settings.back().option = option;
  };
  KVPLAN_TRY(const auto file, traces::Input::open(input.path));
  if (io::document_kind(file->peek(8)) == io::DocumentKind::kReport)
    return bad_input("expected a scenario or a trace, found a report; `kvplan convert` shows what it ran")
        .at_file(input.path);
  // An option about reading a trace means that the input is a trace, whatever its name.
  const bool told = !input.import.format.empty() || !input.import.map.empty();
  const bool scenario = told ? io::looks_like_scenario(file->peek(4096)) : is_scenario(*file);
  if (file->failed()) return file->error();
  if (scenario) {
    KVPLAN_TRY(settings, io::read_scenario(*file));
  } else {
    add("workload.trace", input.path, "input");
  }
  if (!input.import.format.empty()) add("workload.format", input.import.format, "--format");
  if (!input.import.map.empty()) add("workload.map", input.import.map, "--map");
  if (input.import.block_tokens > 0)
    add("workload.block_tokens", std::to_string(input.import.block_tokens), "--block");
  for (const std::string& text : input.sets) {
    KVPLAN_TRY(runs::Setting setting, runs::parse_setting(text));
    settings.push_back(std::move(setting));
  }
  if (!input.prices.empty()) add("prices", input.prices, "--prices");
  KVPLAN_TRY_DO(io::read_devices(settings));
  return settings;
}

std::string scenario_flags(const ScenarioInput& input) {
  std::string out = import_flags(input.import);
  for (const std::string& set : input.sets) out += " --set " + report::shell_quoted(set);
  if (!input.prices.empty()) out += " --prices " + report::shell_quoted(input.prices);
  return out;
}

Result<traces::Trace> read_trace_of(const runs::Scenario& scenario, const traces::ImportOptions& flags) {
  if (scenario.trace.empty())
    return bad_input("scenario names no trace: add --set workload.trace=FILE").at_field("workload.trace");
  Result<traces::Trace> trace = read_trace(scenario.trace, scenario.import);
  if (trace.ok()) return trace;
  Error error = std::move(trace).error();
  if (error.field == "--format" && flags.format.empty()) error.field = "workload.format";
  if (error.field == "--map" && flags.map.empty()) error.field = "workload.map";
  if (error.field == "--block" && flags.block_tokens == 0) error.field = "workload.block_tokens";
  return error;
}

runs::InputReaders input_readers(const traces::ImportOptions& flags) {
  return {io::file_openers(),
          [flags](const runs::Scenario& scenario) { return read_trace_of(scenario, flags); }, io::look_at,
          [](const std::string& path) { return io::whole_digest(path, interrupted); }};
}

}  // namespace kvplan::cli
