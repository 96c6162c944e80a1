// kvplan report: what is in the database of a sweep.
#include <algorithm>
#include <memory>

#include "simulator/cli/command.h"
#include "simulator/cli/outputs.h"
#include "simulator/report/charts.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"
#include "simulator/sweep/database.h"
#include "simulator/sweep/database_text.h"
#include "simulator/sweep/page.h"
#include "simulator/sweep/table.h"

namespace kvplan::cli {
namespace {

struct ReportFlags {
  std::string database, csv, html;
  std::string pareto, heat, effects;  // the requested analyses
  std::string pareto_csv, heat_csv, heat_svg, effects_csv;
};

/// The files that are written, with the options that name them.
std::vector<std::pair<std::string, std::string>> outputs_of(const ReportFlags& flags) {
  return {
      {"--csv", flags.csv},           {"--html", flags.html},         {"--pareto-csv", flags.pareto_csv},
      {"--heat-csv", flags.heat_csv}, {"--heat-svg", flags.heat_svg}, {"--effects-csv", flags.effects_csv}};
}

/// Warns if the sweep has cases that the table lacks, because such a table looks complete.
Status warn_of_missing(sweep::Database& database) {
  KVPLAN_TRY(const std::int64_t done, database.done());
  const std::int64_t cases = database.head().cases;
  if (done < cases)
    print_warnings({report::grouped(cases - done) + " of " + report::grouped(cases) +
                    " cases of the sweep are missing in " + database.path()});
  return Done{};
}

std::string command_line(const ReportFlags& flags) {
  std::string line = "kvplan report " + report::shell_quoted(flags.database);
  for (const auto& [option, value] : {std::pair("--pareto", flags.pareto), std::pair("--heat", flags.heat),
                                      std::pair("--effects", flags.effects)})
    if (!value.empty()) line.append(" ").append(option).append(" ").append(report::shell_quoted(value));
  return line + " --html " + report::shell_quoted(flags.html);
}

/// `value`, or its error with the name of an option.
template <class Value>
Result<Value> at_option(Result<Value> value, std::string_view option) {
  if (!value && value.error().field.empty()) return std::move(value).error().at_field(option);
  return value;
}

Result<sweep::Analyses> analyse(sweep::Database& database, const ReportFlags& flags) {
  sweep::Analyses analyses;
  if (!flags.pareto.empty()) {
    KVPLAN_TRY(const auto columns,
               at_option(sweep::parse_columns(database.head(), flags.pareto), "--pareto"));
    KVPLAN_TRY(analyses.front, at_option(sweep::pareto_front(database, columns), "--pareto"));
  }
  if (!flags.heat.empty()) {
    KVPLAN_TRY(sweep::HeatMap map, at_option(sweep::heat_map(database, flags.heat), "--heat"));
    analyses.heat_maps.push_back(std::move(map));
  }
  if (!flags.effects.empty()) {
    KVPLAN_TRY(const auto columns,
               at_option(sweep::parse_columns(database.head(), flags.effects), "--effects"));
    for (const sweep::NumberColumn& column : columns) {
      KVPLAN_TRY(sweep::Effects effects, sweep::effects_of(database, column));
      analyses.effects.push_back(std::move(effects));
    }
  }
  return analyses;
}

/// The requested analyses as tables for a terminal.
std::string analyses_text(const sweep::Analyses& analyses) {
  constexpr std::size_t kWidth = 100;
  std::string text;
  if (analyses.front) text += "\n" + report::table_text(sweep::front_table(*analyses.front), kWidth);
  for (const sweep::HeatMap& map : analyses.heat_maps)
    text += "\n" + report::table_text(sweep::heat_table(map), kWidth);
  for (const sweep::Effects& effects : analyses.effects)
    for (const report::Table& table : sweep::effect_tables(effects))
      text += "\n" + report::table_text(table, kWidth);
  return text;
}

Status run(const ReportFlags& flags) {
  std::vector<std::string> files;
  bool to_stdout = false;
  for (const auto& [option, file] : outputs_of(flags)) {
    if (file == "-" && to_stdout) return bad_input("expected at most one output on standard output");
    to_stdout = to_stdout || file == "-";
    files.push_back(file);
  }
  KVPLAN_TRY_DO(check_apart({flags.database}, files));
  KVPLAN_TRY(sweep::Database database, sweep::Database::open(flags.database));
  KVPLAN_TRY(const sweep::Analyses analyses, analyse(database, flags));
  KVPLAN_TRY_DO(warn_of_missing(database));
  const auto csv = [&](const ByteSink& sink) { return sweep::write_csv(database, sink); };
  if (flags.csv == "-" &&
      std::count_if(files.begin(), files.end(), [](const auto& f) { return !f.empty(); }) == 1)
    return write_pieces("-", csv);  // rows are written as they come, without waiting for the last
  Outputs outputs;
  KVPLAN_TRY_DO(outputs.add_pieces(flags.csv, csv));
  if (analyses.front) KVPLAN_TRY_DO(outputs.add(flags.pareto_csv, sweep::front_csv(*analyses.front)));
  for (const sweep::HeatMap& map : analyses.heat_maps) {
    KVPLAN_TRY_DO(outputs.add(flags.heat_csv, sweep::heat_csv(map)));
    KVPLAN_TRY_DO(outputs.add(flags.heat_svg, report::svg_document(sweep::heat_chart(map, "heat"))));
  }
  if (!analyses.effects.empty())
    KVPLAN_TRY_DO(outputs.add(flags.effects_csv, sweep::effects_csv(analyses.effects)));
  if (!flags.html.empty()) {
    KVPLAN_TRY(const std::string page, sweep::sweep_page(database, analyses, command_line(flags)));
    KVPLAN_TRY_DO(outputs.add(flags.html, page));
  }
  KVPLAN_TRY_DO(outputs.commit());
  if (to_stdout) return Done{};
  KVPLAN_TRY(const std::string text, sweep::database_text(database));
  return write_text("-", text + analyses_text(analyses));
}

}  // namespace

void add_report(Command& app, Outcome& outcome) {
  Command* const command = app.add_subcommand("report", "Show the results of a sweep");
  auto flags = std::make_shared<ReportFlags>();
  command->add_option("database", flags->database, "Database that `kvplan sweep` wrote")->required();
  command->add_option("--csv", flags->csv,
                      "Write a CSV table to FILE, or - for standard output: one line per case, with its "
                      "varied values and all figures");
  command->add_option("--html", flags->html,
                      "Write one HTML page: the varied paths, the best cases, the analyses asked for below, "
                      "means by value, and the reasons of failed cases");
  const auto add = [&](const char* name, std::string& to, const char* help) {
    return command->add_option(name, to, help);
  };
  Option* const pareto = add("--pareto", flags->pareto,
                             "FIGURE,FIGURE,...: the Pareto front, that is the cases that no other case "
                             "beats in all of these figures. A varied path, or a figure without a preferred "
                             "direction, is written NAME:lower or NAME:higher");
  add("--pareto-csv", flags->pareto_csv, "Write the Pareto front as a CSV table")->needs(pareto);
  Option* const heat =
      add("--heat", flags->heat,
          "FIGURE,PATH,PATH: heat map of a figure's mean for each pair of values of two varied paths; the "
          "first path is horizontal. Many numbers are grouped into ranges");
  add("--heat-csv", flags->heat_csv, "Write the heat map as a CSV table")->needs(heat);
  add("--heat-svg", flags->heat_svg, "Write the heat map as a drawing")->needs(heat);
  Option* const effects = add("--effects", flags->effects,
                              "FIGURE,...: main effects, that is the mean of a figure for each value of each "
                              "varied path, compared with the mean of all cases");
  add("--effects-csv", flags->effects_csv, "Write the main effects as a CSV table")->needs(effects);
  run_as(*command, outcome, [flags] { return run(*flags); });
}

}  // namespace kvplan::cli
