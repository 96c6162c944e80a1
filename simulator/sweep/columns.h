// Columns of a database that hold numbers: figures, and varied paths whose values are numbers. What analyses read.
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
  std::string unit;  ///< empty: none, or a path
  plan::Better better{plan::Better::kNeither};
  bool operator==(const NumberColumn&) const = default;
};

/// NAME, or NAME:lower or NAME:higher where it is to be said which is better. Errors: no figure and no varied path, a
/// path whose values are no numbers.
Result<NumberColumn> parse_column(const Head& head, std::string_view text);
/// Several, parted by commas. Errors: those of parse_column, one twice.
Result<std::vector<NumberColumn>> parse_columns(const Head& head, std::string_view text);
/// A varied path. Errors: none of this name.
Result<plan::Vary> find_path(const Head& head, std::string_view name);

/// A case that is done.
struct Point {
  std::int64_t number{0};
  std::vector<double> values;       ///< parallel to the columns
  std::vector<std::string> varied;  ///< texts, parallel to the paths that were asked for
};
/// Told of the cases that have a value in each of the columns, in order; none is held. Latencies of saturated cases are
/// no values (saturated.h). `paths`: varied ones whose values are wanted too.
Status each_point(Database& database, const std::vector<NumberColumn>& columns,
                  const std::vector<std::string>& paths, const std::function<void(Point&)>& told);

/// As people read it.
std::string value_text(std::string_view unit, double value);

}  // namespace kvplan::sweep
