// kvplan trace import|info|head|convert: import traces, look at them, write them in another format. Commands that
// change a trace are in trace_edit_commands.cpp, synthetic traces in trace_synth_command.cpp.
#include <memory>

#include "simulator/cli/command.h"
#include "simulator/cli/import_options.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/trace_edit_commands.h"
#include "simulator/cli/trace_input.h"
#include "simulator/cli/trace_output.h"
#include "simulator/cli/trace_report.h"
#include "simulator/cli/trace_synth_command.h"

namespace kvplan::cli {
namespace {

struct TraceOptions {
  std::vector<std::string> inputs;
  std::string output;
  std::string json;
  std::int64_t rows{10};
  traces::ImportOptions import;
};

Status run_import(const TraceOptions& options) {
  KVPLAN_TRY_DO(check_apart(options.inputs, {options.output}));
  KVPLAN_TRY_DO(check_import_output(options.output));
  KVPLAN_TRY(const std::unique_ptr<traces::TraceStream> stream, open_input(options.inputs, options.import));
  return write_trace(*stream, options.output);
}

Status run_convert(const TraceOptions& options) {
  KVPLAN_TRY_DO(check_apart(options.inputs, {options.output}));
  KVPLAN_TRY_DO(check_trace_output(options.output));
  KVPLAN_TRY(const std::unique_ptr<traces::TraceStream> stream, open_input(options.inputs, options.import));
  return write_trace(*stream, options.output);
}

Status run_info(const TraceOptions& options) {
  KVPLAN_TRY_DO(check_apart(options.inputs, {options.json}));
  KVPLAN_TRY(const traces::Trace trace, read_trace(options.inputs.front(), options.import));
  const traces::Statistics statistics = traces::compute_statistics(trace);
  if (!options.json.empty()) KVPLAN_TRY_DO(write_text(options.json, info_json(trace, statistics)));
  if (options.json == "-") return Done{};
  return write_text("-", info_text(options.inputs.front(), trace, statistics));
}

Status run_head(const TraceOptions& options) {
  KVPLAN_TRY_DO(check_apart(options.inputs, {options.json}));
  KVPLAN_TRY(const std::unique_ptr<traces::TraceStream> stream, open_input(options.inputs, options.import));
  traces::Trace piece;
  KVPLAN_TRY([[maybe_unused]] const bool any, stream->next(piece));
  if (!options.json.empty()) KVPLAN_TRY_DO(write_text(options.json, head_json(piece, options.rows)));
  if (options.json == "-") return Done{};
  return write_text("-", head_text(piece, options.rows));
}

/// Adds one sub-command with its own options, which live as long as the function that runs it.
Command* add_action(Command& trace, Outcome& outcome, const char* name, const char* help,
                    Status (*action)(const TraceOptions&), const std::shared_ptr<TraceOptions>& options) {
  Command* const command = trace.add_subcommand(name, help);
  add_import_options(*command, options->import);
  run_as(*command, outcome, [action, options] { return action(*options); });
  return command;
}

}  // namespace

void add_trace(Command& app, Outcome& outcome) {
  Command* const trace =
      app.add_subcommand("trace", "Import, inspect, convert, edit and generate request traces");
  trace->require_subcommand();
  const auto make = [&](const char* name, const char* help, Status (*action)(const TraceOptions&)) {
    auto options = std::make_shared<TraceOptions>();
    return std::pair(add_action(*trace, outcome, name, help, action, options), options);
  };
  constexpr const char* kAny = "A .kvt or any importable file, plain, .gz or .zst";

  auto [import, import_options] = make("import", "Write a .kvt from a trace in any known format", run_import);
  import->add_option("INPUT", import_options->inputs, "Input files of one format, in this order")->required();
  import
      ->add_option("-o,--output", import_options->output,
                   "The .kvt to write; .csv and .jsonl are possible too")
      ->required();

  auto [info, info_options] =
      make("info", "Show size, rate, lengths and prefix sharing of a trace", run_info);
  info->add_option("TRACE", info_options->inputs, kAny)->required()->expected(1);
  add_json_option(*info, info_options->json, "the result");

  auto [head, head_options] = make("head", "Show the first requests of a trace", run_head);
  head->add_option("TRACE", head_options->inputs, kAny)->required()->expected(1);
  add_whole_number(*head, "-n,--requests", head_options->rows, {0, traces::kPieceRequests},
                   "Number of requests to show");
  add_json_option(*head, head_options->json, "the requests");

  auto [convert, convert_options] =
      make("convert", "Write a trace as .kvt, .csv or .jsonl (.jsonl with prefix ids uses Mooncake's rows)",
           run_convert);
  convert->add_option("TRACE", convert_options->inputs, kAny)->required()->expected(1);
  convert
      ->add_option("-o,--output", convert_options->output, "The file to write; its ending decides the format")
      ->required();

  add_trace_edits(*trace, outcome);
  add_trace_synth(*trace, outcome);
}

}  // namespace kvplan::cli
