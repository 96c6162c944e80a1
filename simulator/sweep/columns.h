// Columns of a database that contain numbers: figures, and varied paths with numeric values. Analyses use these.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/results/figures.h"
#include "simulator/sweep/database.h"

namespace kvplan::sweep {

struct NumberColumn {
  std::string name;
  std::string unit;  ///< empty: no unit, or the column is a path
  runs::Better better{runs::Better::kNeither};
  bool operator==(const NumberColumn&) const = default;
};

/// Parses NAME, NAME:lower or NAME:higher; the latter two say which is better. Errors: neither a figure nor a varied
/// path, a path with values that are not numbers.
Result<NumberColumn> parse_column(const Head& head, std::string_view text);
/// Several columns, separated by commas. Errors: those of parse_column, a column twice.
Result<std::vector<NumberColumn>> parse_columns(const Head& head, std::string_view text);
/// The varied path of this name. Errors: there is none.
Result<runs::Vary> find_path(const Head& head, std::string_view name);

/// A case that ran.
struct Point {
  std::int64_t number{0};
  std::vector<double> values;       ///< parallel to the columns
  std::vector<std::string> varied;  ///< values as text, parallel to the requested paths
};
/// Calls back for the cases with a value in each of the columns, in order; stores none. Latencies of saturated cases
/// do not count as values (saturated.h). `paths`: varied paths to report as well.
Status each_point(Database& database, const std::vector<NumberColumn>& columns,
                  const std::vector<std::string>& paths, const std::function<void(Point&)>& told);

/// The value as text, for people.
std::string value_text(std::string_view unit, double value);

}  // namespace kvplan::sweep
