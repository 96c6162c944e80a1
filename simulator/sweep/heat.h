// A figure over two varied paths: its mean over the cases for each pair of values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/report/content.h"
#include "simulator/sweep/columns.h"

namespace kvplan::sweep {

struct HeatCell {
  std::int64_t cases{0};
  std::optional<double> mean;  ///< absent without a case
};

struct HeatMap {
  NumberColumn figure;
  std::string across, down;                ///< the paths
  std::vector<std::string> columns, rows;  ///< their values, or ranges of them (groups.h)
  std::vector<HeatCell> cells;             ///< row after row
  [[nodiscard]] const HeatCell& at(std::size_t row, std::size_t column) const {
    return cells[row * columns.size() + column];
  }
};

/// If a path has at most this many values, each value is a column or row.
inline constexpr std::size_t kMostHeatValues = 16;
/// Number of ranges, if a path has more numbers than that.
inline constexpr std::size_t kHeatRanges = 8;

/// `text`: FIGURE,PATH,PATH, the first path across. Means are sums in the order of cases, divided once. Errors: any
/// other form, one path twice, a path with too many values that are not numbers.
Result<HeatMap> heat_map(Database& database, std::string_view text);

/// The map as a table, with a row for each value of the second path.
report::Table heat_table(const HeatMap& map);
/// One line for each cell with cases: the values of both paths, cases, mean.
std::string heat_csv(const HeatMap& map);

/// An SVG element (report/charts.h): a field for each cell, darker for more, with its mean in black or white,
/// whichever is easier to read; a dashed field if there is no case; a thick edge around the best one.
std::string heat_chart(const HeatMap& map, const std::string& id);

}  // namespace kvplan::sweep
