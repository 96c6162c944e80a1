// A measured table of one kind of kernel: a row for each shape, a column for each value of the quantity that grows
// with a step (tokens, or elements of a message). Times of one call on one rank, in microseconds, warm, in a graph if
// the engine uses one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::kernels {

struct TimeRow {
  std::vector<std::string> key;  ///< the values of the index columns, as texts
  std::vector<double> numbers;   ///< the index columns as numbers; 0 for a value that is not a number
  std::vector<double> us;        ///< one for each value of the axis; NaN if not measured
};

struct TimeTable {
  std::vector<double> axis;  ///< ascending
  std::vector<TimeRow> rows;

  /// The row with exactly this key; null if there is none.
  [[nodiscard]] const TimeRow* find(const std::vector<std::string>& key) const;
};

/// The values of a key as numbers; 0 for a value that is not a number.
std::vector<double> numbers_in(const std::vector<std::string>& key);

/// Parses a table: a header with the names of index columns, then the values of the axis, and the rows. `columns`:
/// the keys of the table, in this order; a column that an older table lacks is "0" in each row. Errors, with file,
/// line and field: an unknown column, too few or too many cells, a value that is no number, an axis that does not
/// ascend, a time that is not positive.
Result<TimeTable> parse_time_table(std::string_view text, std::span<const std::string_view> columns,
                                   const std::string& file);

}  // namespace kvplan::kernels
