// kvplan calibration info|merge: check and show the measurements of a device, join the rows of several files.
#include <algorithm>
#include <memory>

#include "simulator/base/json_writer.h"
#include "simulator/cli/command.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/io/calibration.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"

namespace kvplan::cli {
namespace {

using io::Calibration;
using io::CalibrationColumn;
using io::CalibrationTable;
using report::grouped;
using report::rounded;

struct CalibrationFlags {
  std::vector<std::string> inputs;
  std::string json, output;
};

/// Text of a file, with control characters replaced, so that it is harmless to a terminal.
std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text;
}

std::string range_text(const CalibrationColumn& column) {
  if (column.is_text()) {
    std::vector<std::string> values = column.texts;
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    constexpr std::size_t kShown = 6;
    std::string out;
    for (std::size_t i = 0; i < std::min(values.size(), kShown); ++i)
      out += (i == 0 ? "" : ", ") + one_line(values[i]);
    return values.size() > kShown ? out + ", ..." : out;
  }
  const auto [low, high] = std::minmax_element(column.numbers.begin(), column.numbers.end());
  const auto text = [&](double number) -> std::string {
    if (column.unit == "bytes") return report::bytes_text(number);
    if (column.unit == "ns") return report::seconds_text(number * 1e-9);
    if (column.unit == "ratio") return rounded(number);
    return grouped(static_cast<std::int64_t>(number)) + (column.unit == "tokens" ? " tokens" : "");
  };
  return *low == *high ? text(*low) : text(*low) + " to " + text(*high);
}

report::Table table_of(const CalibrationTable& table) {
  const io::KnownTable* known = io::known_table(table.name);
  report::Table out{.title = one_line(table.name) + ": " +
                             (known == nullptr ? std::string("a table that this version of kvplan knows")
                                               : std::string(known->summary)) +
                             ", " + grouped(static_cast<std::int64_t>(table.rows())) +
                             (table.rows() == 1 ? " row" : " rows"),
                    .columns = {"", ""},
                    .rows = {},
                    .numbers = false};
  for (const CalibrationColumn& column : table.columns) {
    report::Row row{.label = one_line(column.name), .cells = {range_text(column), ""}};
    if (known != nullptr)
      for (const io::KnownColumn& c : known->columns)
        if (c.name == column.name) row.cells[1] = c.help;
    out.rows.push_back(std::move(row));
  }
  return out;
}

std::string not_measured(const Calibration& c) {
  std::string out;
  for (const io::KnownTable& known : io::known_tables())
    if (std::none_of(c.tables.begin(), c.tables.end(), [&](const auto& t) { return t.name == known.name; }))
      out += (out.empty() ? "" : ", ") + std::string(known.name);
  return out;
}

std::string or_unnamed(const std::string& text) {
  return text.empty() ? "not named" : one_line(text);
}

std::string info_text(const Calibration& c) {
  const std::size_t width = output_width();
  report::Table head{.title = or_unnamed(c.device.name), .columns = {""}, .rows = {}, .numbers = false};
  const auto row = [&](const char* label, std::string text) {
    head.rows.push_back({.label = label, .cells = {std::move(text)}});
  };
  row("device", grouped(c.device.sm_count) + " SMs, " +
                    report::bytes_text(static_cast<double>(c.device.l2_bytes)) + " of L2, " +
                    report::bytes_text(static_cast<double>(c.device.visible_bytes)) + " visible, " +
                    grouped(c.device.sm_clock_mhz) + " and " + grouped(c.device.memory_clock_mhz) + " MHz");
  row("driver", or_unnamed(c.software.driver) + ", toolkit " + or_unnamed(c.software.toolkit));
  row("engine", or_unnamed(c.software.engine) + " " + one_line(c.software.engine_version) + ", kernels " +
                    or_unnamed(c.software.kernel_build));
  row("measured", one_line(c.when) + " by " + or_unnamed(c.made_by));
  row("method", std::string(c.method.cold ? "cold" : "warm") + " caches, " +
                    (c.method.graph ? "from graphs" : "call by call") + ", at least " +
                    grouped(c.method.least_samples) +
                    " samples; stop rule: " + or_unnamed(c.method.stop_rule));
  std::string out = report::table_text(head, width);
  for (const CalibrationTable& table : c.tables) out += "\n" + report::table_text(table_of(table), width);
  for (const io::CalibrationFit& fit : c.fits) {
    report::Table table{.title = "Fit of " + one_line(fit.table) + ": " + one_line(fit.form) +
                                 ", held-out error " + report::percent(fit.held_out_error) + " over " +
                                 grouped(fit.held_out_rows) + (fit.held_out_rows == 1 ? " row" : " rows"),
                        .columns = {""},
                        .rows = {},
                        .numbers = false};
    for (const io::CalibrationParameter& p : fit.parameters)
      table.rows.push_back({.label = one_line(p.name), .cells = {shortest(p.value) + " " + p.unit}});
    out += "\n" + report::table_text(table, width);
  }
  const std::string missing = not_measured(c);
  if (!missing.empty()) out += "\nNot measured: " + report::wrapped(missing, width - 2, "  ") + "\n";
  return out;
}

Result<Calibration> read(const std::string& path) {
  KVPLAN_TRY(const std::unique_ptr<traces::Input> input, traces::Input::open(path));
  return io::read_calibration(*input);
}

Status info(const CalibrationFlags& flags) {
  KVPLAN_TRY_DO(check_apart(flags.inputs, {flags.json}));
  KVPLAN_TRY(const Calibration calibration, read(flags.inputs.front()));
  return flags.json.empty() ? write_text("-", info_text(calibration))
                            : write_text(flags.json, io::calibration_json(calibration));
}

Status merge(const CalibrationFlags& flags) {
  KVPLAN_TRY_DO(check_apart(flags.inputs, {flags.output}));
  KVPLAN_TRY(Calibration calibration, read(flags.inputs.front()));
  for (std::size_t i = 1; i < flags.inputs.size(); ++i) {
    KVPLAN_TRY(const Calibration more, read(flags.inputs[i]));
    const Status merged = io::merge_calibration(calibration, more);
    if (!merged.ok()) return Error(merged.error()).at_file(flags.inputs[i]);
  }
  return write_text(flags.output, io::calibration_json(calibration));
}

}  // namespace

void add_calibration(Command& app, Outcome& outcome) {
  Command* const command = app.add_subcommand(
      "calibration", "Check, show and merge calibrations: files with what was measured on a device");
  command->require_subcommand();
  auto flags = std::make_shared<CalibrationFlags>();
  Command* const info_command = command->add_subcommand("info", "Check a calibration and show its contents");
  info_command->add_option("input", flags->inputs, "Calibration (JSON)")->required()->expected(1);
  add_json_option(*info_command, flags->json, "the whole calibration, with its keys in a fixed order");
  run_as(*info_command, outcome, [flags] { return info(*flags); });
  Command* const merge_command = command->add_subcommand(
      "merge",
      "Merge several calibrations of the same device, engine and method; their rows are concatenated");
  merge_command->add_option("inputs", flags->inputs, "Calibrations (JSON)")->required();
  merge_command
      ->add_option("-o,--output", flags->output, "The merged calibration to write, or - for standard output")
      ->required();
  run_as(*merge_command, outcome, [flags] { return merge(*flags); });
}

}  // namespace kvplan::cli
