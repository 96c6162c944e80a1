// kvplan convert: scenarios and reports between JSON and their binary forms.
#include <cstdio>
#include <memory>

#include "simulator/cli/command.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/scenario_input.h"
#include "simulator/io/report_file.h"
#include "simulator/io/scenario_file.h"

namespace kvplan::cli {
namespace {

struct ConvertFlags {
  std::string input, output;
};

enum class FileForm { kJson, kScenario, kReport, kCsv };

/// The form follows from the end of the name; for compressed outputs, from the ending before that.
Result<FileForm> form_of(const std::string& output) {
  if (output == "-") return FileForm::kJson;
  if (io::is_named(output, ".json")) return FileForm::kJson;
  if (io::is_named(output, ".kvs")) return FileForm::kScenario;
  if (io::is_named(output, ".kvr")) return FileForm::kReport;
  if (io::is_named(output, ".csv")) return FileForm::kCsv;
  return bad_input("expected a name that ends in .json, .kvs (scenario), .kvr (report) or .csv (timeline)")
      .at_file(output);
}

Status convert_scenario(traces::Input& input, FileForm form, const std::string& output) {
  if (form != FileForm::kJson && form != FileForm::kScenario)
    return bad_input("is a scenario; expected an output that ends in .json or .kvs").at_file(input.path());
  KVPLAN_TRY(const std::vector<runs::Setting> settings, io::read_scenario(input));
  KVPLAN_TRY(const runs::Scenario scenario, runs::resolve(settings));
  if (form == FileForm::kJson) {
    KVPLAN_TRY(const std::string json, io::scenario_json(scenario, output));
    return write_text(output, json);
  }
  return write_pieces(
      output, [&](const ByteSink& sink) { return io::write_scenario_binary(scenario, output, sink); });
}

Status convert_report(traces::Input& input, FileForm form, const std::string& output) {
  if (form == FileForm::kScenario)
    return bad_input("is a report; expected an output that ends in .json, .kvr or .csv")
        .at_file(input.path());
  if (form == FileForm::kReport)
    return write_pieces(output, [&](const ByteSink& sink) { return io::copy_report_binary(input, sink); });
  if (form == FileForm::kCsv)
    return write_pieces(output, [&](const ByteSink& sink) { return io::copy_timeline_csv(input, sink); });
  KVPLAN_TRY(const io::ReportFile report, io::read_report(input));
  KVPLAN_TRY_DO(write_text(output, report.json));
  const auto note = [&](const char* what) {
    std::fprintf(stderr, "kvplan: note: %s: %s\n", input.path().c_str(), what);
  };
  if (report.timeline) note("JSON cannot hold the timeline of this report; write it to a .csv file");
  if (report.later_fields) note("the file holds fields of a later kvplan version, which are left out");
  return Done{};
}

Status convert(const ConvertFlags& flags) {
  KVPLAN_TRY(const FileForm form, form_of(flags.output));
  KVPLAN_TRY_DO(check_apart({flags.input}, {flags.output}));
  KVPLAN_TRY(const std::unique_ptr<traces::Input> input, traces::Input::open(flags.input));
  const std::string begin(input->peek(4096));
  if (input->failed()) return input->error();
  if (begin.empty()) return bad_input("the file is empty").at_file(flags.input);
  const bool report = io::looks_like_report(begin) || io::is_named(flags.input, ".kvr");
  if (report) return convert_report(*input, form, flags.output);
  const bool scenario = is_scenario(*input);
  if (input->failed()) return input->error();
  if (scenario && io::looks_like_scenario(begin)) return convert_scenario(*input, form, flags.output);
  if (scenario) KVPLAN_TRY_DO(io::read_scenario(*input));  // its error says where the file is broken
  return bad_input("expected a scenario (JSON or .kvs) or the report of a run (JSON or .kvr)")
      .at_file(flags.input);
}

}  // namespace

void add_convert(Command& app, Outcome& outcome) {
  Command* const command = app.add_subcommand(
      "convert", "Convert scenarios and reports between JSON and their binary forms (.kvs, .kvr)");
  auto flags = std::make_shared<ConvertFlags>();
  command->add_option("input", flags->input, "Scenario or report, as JSON or binary; the content decides")
      ->required();
  command
      ->add_option(
          "output", flags->output,
          "Output file: FILE.json (or - for standard output), FILE.kvs for a scenario, FILE.kvr for a "
          "report, FILE.csv for the timeline of a report; .gz or .zst may follow. A scenario is written with "
          "every value and its origin. Relative paths in it are adapted to the new folder")
      ->required();
  command->footer(
      "A converted binary report gives the same JSON bytes as --json of its run. A scenario gives the same "
      "run in both forms.");
  run_as(*command, outcome, [flags] { return convert(*flags); });
}

}  // namespace kvplan::cli
