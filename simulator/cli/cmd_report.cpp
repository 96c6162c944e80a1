// kvplan report: what is in the database of a sweep.
#include <CLI/CLI.hpp>
#include <memory>

#include "simulator/cli/command.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/sweep_output.h"
#include "simulator/report/number_text.h"
#include "simulator/sweep/database.h"
#include "simulator/sweep/page.h"
#include "simulator/sweep/table.h"

namespace kvplan::cli {
namespace {

struct ReportFlags {
  std::string database, csv, html;
};

/// A table with fewer rows than the sweep has cases looks whole; so it is said.
Status warn_of_missing(sweep::Database& database) {
  KVPLAN_TRY(const std::int64_t done, database.done());
  const std::int64_t cases = database.head().cases;
  if (done < cases)
    print_warnings({report::grouped(cases - done) + " of " + report::grouped(cases) +
                    " cases of the sweep are not in " + database.path()});
  return Done{};
}

std::string command_line(const ReportFlags& flags) {
  return "kvplan report " + report::shell_quoted(flags.database) + " --html " +
         report::shell_quoted(flags.html);
}

Status run(const ReportFlags& flags) {
  if (flags.csv == "-" && flags.html == "-")
    return bad_input("expected at most one output on standard output");
  KVPLAN_TRY_DO(check_apart({flags.database}, {flags.csv, flags.html}));
  KVPLAN_TRY(sweep::Database database, sweep::Database::open(flags.database));
  KVPLAN_TRY_DO(warn_of_missing(database));
  const auto csv = [&](const ByteSink& sink) { return sweep::write_csv(database, sink); };
  if (flags.csv == "-" && flags.html.empty()) return write_pieces("-", csv);  // no row waits for the last
  Outputs outputs;
  KVPLAN_TRY_DO(outputs.add_pieces(flags.csv, csv));
  if (!flags.html.empty()) {
    KVPLAN_TRY(const std::string page, sweep::sweep_page(database, command_line(flags)));
    KVPLAN_TRY_DO(outputs.add(flags.html, page));
  }
  KVPLAN_TRY_DO(outputs.commit());
  if (flags.csv == "-" || flags.html == "-") return Done{};
  KVPLAN_TRY(const std::string text, database_text(database));
  return write_text("-", text);
}

}  // namespace

void add_report(CLI::App& app, Outcome& outcome) {
  CLI::App* const command = app.add_subcommand("report", "Show what is in the database of a sweep");
  auto flags = std::make_shared<ReportFlags>();
  command->add_option("database", flags->database, "Database of kvplan sweep")->required();
  command->add_option("--csv", flags->csv,
                      "Write a table to FILE, or - for standard output: a line for each case with its varied "
                      "values and all figures");
  command->add_option(
      "--html", flags->html,
      "Write one HTML page: what was varied, the best cases, means by value, why cases failed");
  run_as(*command, outcome, [flags] { return run(*flags); });
}

}  // namespace kvplan::cli
