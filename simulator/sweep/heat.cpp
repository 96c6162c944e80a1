#include "simulator/sweep/heat.h"

#include "simulator/base/number_input.h"
#include "simulator/sweep/groups.h"
#include "simulator/sweep/table.h"

namespace kvplan::sweep {

Result<HeatMap> heat_map(Database& database, std::string_view text) {
  const std::size_t first = text.find(',');
  const std::size_t second = first == std::string_view::npos ? first : text.find(',', first + 1);
  if (second == std::string_view::npos || text.find(',', second + 1) != std::string_view::npos)
    return not_expected("FIGURE,PATH,PATH", text);
  HeatMap map;
  const Head& head = database.head();
  KVPLAN_TRY(map.figure, parse_column(head, text.substr(0, first)));
  KVPLAN_TRY(const runs::Vary across, find_path(head, text.substr(first + 1, second - first - 1)));
  KVPLAN_TRY(const runs::Vary down, find_path(head, text.substr(second + 1)));
  if (across.path == down.path) return bad_input("expected two paths, found " + across.path + " twice");
  KVPLAN_TRY(const Groups columns, groups_of(across, kMostHeatValues, kHeatRanges));
  KVPLAN_TRY(const Groups rows, groups_of(down, kMostHeatValues, kHeatRanges));
  map.across = across.path;
  map.down = down.path;
  map.columns = columns.labels;
  map.rows = rows.labels;
  map.cells.resize(map.columns.size() * map.rows.size());

  std::vector<double> sums(map.cells.size());
  KVPLAN_TRY_DO(each_point(database, {map.figure}, {map.across, map.down}, [&](const Point& point) {
    const auto column = columns.of.find(point.varied[0]);
    const auto row = rows.of.find(point.varied[1]);
    if (column == columns.of.end() || row == rows.of.end()) return;
    const std::size_t cell = row->second * map.columns.size() + column->second;
    sums[cell] += point.values[0];
    ++map.cells[cell].cases;
  }));
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (map.cells[i].cases > 0) map.cells[i].mean = sums[i] / static_cast<double>(map.cells[i].cases);
  return map;
}

report::Table heat_table(const HeatMap& map) {
  report::Table table{
      "Mean " + map.figure.name + " by " + map.across + " (horizontal) and " + map.down + " (vertical)",
      map.columns,
      {},
      true};
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    report::Row line{map.rows[row], {}};
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const HeatCell& cell = map.at(row, column);
      line.cells.push_back(cell.mean ? value_text(map.figure.unit, *cell.mean) : "");
    }
    table.rows.push_back(std::move(line));
  }
  return table;
}

std::string heat_csv(const HeatMap& map) {
  std::string line = map.across;
  append_csv_field(line, map.down);
  append_csv_field(line, "cases");
  append_csv_field(line, map.figure.name);
  std::string text = line + "\n";
  for (std::size_t row = 0; row < map.rows.size(); ++row)
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const HeatCell& cell = map.at(row, column);
      if (!cell.mean) continue;
      line.clear();
      append_csv_field(line, map.columns[column]);
      append_csv_field(line, map.rows[row]);
      append_csv_field(line, std::to_string(cell.cases));
      append_csv_field(line, cell_text(*cell.mean));
      text += line + "\n";
    }
  return text;
}

}  // namespace kvplan::sweep
