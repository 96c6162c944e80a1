#include "simulator/sweep/page.h"

#include <algorithm>
#include <array>
#include <map>

#include "simulator/report/html.h"
#include "simulator/report/markup.h"
#include "simulator/report/number_text.h"
#include "simulator/sweep/saturated.h"

namespace kvplan::sweep {
namespace {

/// The figures that a planner asks for first.
constexpr std::array<std::string_view, 9> kAsked{
    "slo.goodput_per_s",
    "slo.met_fraction",
    "cost_per_million_output_tokens",
    "throughput.output_tokens_per_s",
    "latency_s.ttft.p99",
    "latency_s.tpot.p99",
    "latency_s.e2e.p99",
    "preemptions",
    "memory.mean_fraction.live",
};
constexpr std::size_t kMostValuesShown = 60;  // values of a path
constexpr int kMostReasons = 20;

std::string number_text(const FigureColumn& figure, const Cell& cell) {
  const auto* const whole = std::get_if<std::int64_t>(&cell);
  const auto* const real = std::get_if<double>(&cell);
  if (whole == nullptr && real == nullptr) return "";
  return value_text(figure.unit, real != nullptr ? *real : static_cast<double>(*whole));
}

/// The requested figures that some case has.
Result<std::vector<FigureColumn>> shown_figures(Database& database) {
  std::vector<FigureColumn> shown;
  for (const std::string_view name : kAsked) {
    for (const FigureColumn& figure : database.head().figures) {
      if (figure.name != name) continue;
      bool any = false;
      KVPLAN_TRY_DO(database.query("SELECT 1 FROM cases WHERE " + quoted_name(name) + " IS NOT NULL LIMIT 1",
                                   [&](const Database::Row&) { any = true; }));
      if (any) shown.push_back(figure);
    }
  }
  return shown;
}

report::Table varied_table(const Head& head) {
  report::Table table{"What was varied", {""}, {}, false};
  for (const runs::Vary& vary : head.varies) {
    std::string text;
    for (std::size_t i = 0; i < std::min(vary.values.size(), kMostValuesShown); ++i)
      text += (i == 0 ? "" : ", ") + vary.values[i];
    if (vary.values.size() > kMostValuesShown)
      text += ", ... (" + report::grouped(static_cast<std::int64_t>(vary.values.size())) + " values)";
    table.rows.push_back({vary.path, {text}});
  }
  return table;
}

/// For each figure with a better direction: the first case with the best value. For latencies, saturated cases are left
/// out.
Result<report::Table> best_table(Database& database, const std::vector<FigureColumn>& figures) {
  report::Table table{"The best case by", {"value", "case"}, {}, true};
  std::string columns = "\"case\"";
  for (const runs::Vary& vary : database.head().varies) {
    table.columns.push_back(vary.path);
    columns += ", " + quoted_name(vary.path);
  }
  for (const FigureColumn& figure : figures) {
    if (figure.better.empty()) continue;
    const std::string name = steady_column(database.head(), figure.name);
    std::string query = "SELECT ";
    query.append(name).append(", ").append(columns).append(" FROM cases WHERE ").append(name);
    query.append(" IS NOT NULL ORDER BY ").append(name).append(figure.better == "lower" ? " ASC" : " DESC");
    query.append(", \"case\" LIMIT 1");
    KVPLAN_TRY_DO(database.query(query, [&](const Database::Row& row) {
      std::vector<std::string> cells{number_text(figure, row[0])};
      for (std::size_t i = 1; i < row.size(); ++i) cells.push_back(cell_text(row[i]));
      table.rows.push_back({figure.name, std::move(cells)});
    }));
  }
  return table;
}

/// Means over all cases that have the same value of the path; means of latencies leave out saturated cases.
Result<report::Table> effect_table(Database& database, const runs::Vary& vary,
                                   const std::vector<FigureColumn>& figures) {
  report::Table table{"By " + vary.path + ": means over the cases", {"cases", "failed"}, {}, true};
  std::string columns = quoted_name(vary.path) + ", count(*), count(error)";
  for (const FigureColumn& figure : figures) {
    table.columns.push_back(figure.name);
    columns += ", avg(" + steady_column(database.head(), figure.name) + ")";
  }
  std::map<std::string, std::vector<std::string>> found;
  KVPLAN_TRY_DO(database.query("SELECT " + columns + " FROM cases GROUP BY 1", [&](const Database::Row& row) {
    std::vector<std::string> cells{cell_text(row[1]), cell_text(row[2])};
    for (std::size_t i = 0; i < figures.size(); ++i) cells.push_back(number_text(figures[i], row[3 + i]));
    found[cell_text(row[0])] = std::move(cells);
  }));
  for (const std::string& value : vary.values)
    if (const auto at = found.find(value); at != found.end() && table.rows.size() < kMostValuesShown)
      table.rows.push_back({value, at->second});
  return table;
}

void write_analyses(report::Markup& html, const Analyses& analyses) {
  if (analyses.front) report::write_table(html, front_table(*analyses.front));
  for (std::size_t i = 0; i < analyses.heat_maps.size(); ++i) {
    const HeatMap& map = analyses.heat_maps[i];
    report::write_chart(html, "Mean " + map.figure.name + " by " + map.across + " and " + map.down,
                        heat_chart(map, "heat" + std::to_string(i)));
  }
  for (const Effects& effects : analyses.effects)
    for (const report::Table& table : effect_tables(effects)) report::write_table(html, table);
}

}  // namespace

Result<std::string> sweep_page(Database& database, const Analyses& analyses, const std::string& command) {
  const Head& head = database.head();
  KVPLAN_TRY(const std::int64_t done, database.done());
  KVPLAN_TRY(const std::int64_t failed, database.failed());
  KVPLAN_TRY(const std::vector<FigureColumn> figures, shown_figures(database));
  KVPLAN_TRY(const std::int64_t saturated, saturated_cases(database));
  report::Markup html;
  report::begin_page(
      html, "A sweep of " + report::grouped(head.cases) + " cases",
      report::grouped(done) + " are done, " + report::grouped(failed) + " of them failed." +
          (head.chosen.empty() ? "" : " Cases: " + head.chosen + ".") +
          (saturated == 0 ? ""
                          : " In " + report::grouped(saturated) +
                                " of them requests arrive faster than they are served, and waiting times "
                                "grow with the length of the trace. Best cases, means, Pareto fronts and "
                                "heat maps of latencies leave these cases out."));
  report::write_table(html, varied_table(head));
  if (!figures.empty()) {
    KVPLAN_TRY(const report::Table best, best_table(database, figures));
    report::write_table(html, best);
  }
  write_analyses(html, analyses);
  if (!figures.empty()) {
    for (const runs::Vary& vary : head.varies) {
      if (vary.values.size() < 2) continue;
      KVPLAN_TRY(const report::Table effect, effect_table(database, vary, figures));
      report::write_table(html, effect);
    }
  }
  std::vector<std::string> reasons;
  KVPLAN_TRY_DO(
      database.query("SELECT count(*), error FROM cases WHERE error IS NOT NULL GROUP BY error "
                     "ORDER BY count(*) DESC, min(\"case\") LIMIT " +
                         std::to_string(kMostReasons),
                     [&](const Database::Row& row) {
                       reasons.push_back(cell_text(row[0]) + " cases: " + cell_text(row[1]));
                     }));
  report::write_list(html, "Why cases failed", reasons);
  report::end_page(html, command);
  return html.take();
}

}  // namespace kvplan::sweep
