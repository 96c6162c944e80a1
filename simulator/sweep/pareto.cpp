#include "simulator/sweep/pareto.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "simulator/report/number_text.h"
#include "simulator/sweep/table.h"

namespace kvplan::sweep {
namespace {

constexpr std::size_t kRoom = 65'536;

/// Converts a point so that less is better in each coordinate.
std::vector<double> as_costs(const Point& point, const std::vector<NumberColumn>& columns) {
  std::vector<double> costs = point.values;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].better == runs::Better::kHigher) costs[i] = -costs[i];
  return costs;
}

bool at_least_as_good(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] > b[i]) return false;
  return true;
}

bool is_path(const Front& front, const NumberColumn& column) {
  return std::find(front.paths.begin(), front.paths.end(), column.name) != front.paths.end();
}

}  // namespace

std::vector<Point> undominated(std::vector<Point> points, const std::vector<NumberColumn>& columns) {
  std::vector<std::pair<std::vector<double>, Point>> ordered;
  ordered.reserve(points.size());
  for (Point& point : points) ordered.emplace_back(as_costs(point, columns), std::move(point));
  std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second.number < b.second.number;
  });
  // A case that beats a point comes before it in this order, so some case of the front that beats it does too. With
  // two columns, the last case of the front is best in the second.
  std::vector<std::vector<double>> front;
  std::vector<Point> kept;
  for (auto& [costs, point] : ordered) {
    bool beaten = false;
    for (std::size_t i = front.size(); i-- > 0 && !beaten;) {
      beaten = front[i] != costs && at_least_as_good(front[i], costs);
      if (columns.size() == 2) break;
    }
    if (beaten) continue;
    if (front.empty() || front.back() != costs) front.push_back(std::move(costs));
    kept.push_back(std::move(point));
  }
  return kept;
}

Result<Front> pareto_front(Database& database, const std::vector<NumberColumn>& columns) {
  if (columns.size() < 2) return bad_input("expected two figures or more");
  for (const NumberColumn& column : columns)
    if (column.better == runs::Better::kNeither)
      return bad_input("expected " + column.name + ":lower or " + column.name + ":higher");
  Front front;
  front.columns = columns;
  for (const runs::Vary& vary : database.head().varies) front.paths.push_back(vary.path);
  std::size_t room = kRoom;  // at this many points, those that another point beats are removed
  KVPLAN_TRY_DO(each_point(database, columns, {}, [&](Point& point) {
    ++front.compared;
    front.points.push_back(std::move(point));
    if (front.points.size() < room) return;
    front.points = undominated(std::move(front.points), columns);
    room = std::max(kRoom, 2 * front.points.size());
  }));
  front.points = undominated(std::move(front.points), columns);
  constexpr std::size_t kFirstPath = 3;  // columns of a row before the first path
  for (Point& point : front.points) {
    KVPLAN_TRY(const auto row, database.row(point.number));
    KVPLAN_CHECK(row && row->size() >= kFirstPath + front.paths.size());
    for (std::size_t i = 0; i < front.paths.size(); ++i)
      point.varied.push_back(cell_text((*row)[kFirstPath + i]));
  }
  return front;
}

report::Table front_table(const Front& front) {
  std::string title = "The Pareto front: " + report::grouped(static_cast<std::int64_t>(front.points.size())) +
                      " of " + report::grouped(front.compared) + " cases, of";
  for (std::size_t i = 0; i < front.columns.size(); ++i)
    title += (i == 0 ? " " : ", ") + std::string(runs::better_name(front.columns[i].better)) + " " +
             front.columns[i].name;
  report::Table table{title, {}, {}, true};
  for (const NumberColumn& column : front.columns) table.columns.push_back(column.name);
  std::vector<std::size_t> others;  // paths that are not among the columns
  for (std::size_t i = 0; i < front.paths.size(); ++i) {
    if (std::any_of(front.columns.begin(), front.columns.end(),
                    [&](const NumberColumn& column) { return column.name == front.paths[i]; }))
      continue;
    others.push_back(i);
    table.columns.push_back(front.paths[i]);
  }
  for (const Point& point : front.points) {
    report::Row row{"case " + std::to_string(point.number), {}};
    for (std::size_t i = 0; i < front.columns.size(); ++i)
      row.cells.push_back(value_text(front.columns[i].unit, point.values[i]));
    for (const std::size_t i : others) row.cells.push_back(point.varied[i]);
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string front_csv(const Front& front) {
  std::string text, line = "case";
  for (const std::string& path : front.paths) append_csv_field(line, path);
  for (const NumberColumn& column : front.columns)
    if (!is_path(front, column)) append_csv_field(line, column.name);
  text = line + "\n";
  for (const Point& point : front.points) {
    line = std::to_string(point.number);
    for (const std::string& value : point.varied) append_csv_field(line, value);
    for (std::size_t i = 0; i < front.columns.size(); ++i)
      if (!is_path(front, front.columns[i])) append_csv_field(line, cell_text(point.values[i]));
    text += line + "\n";
  }
  return text;
}

}  // namespace kvplan::sweep
