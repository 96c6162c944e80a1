// The Pareto front of a sweep: the cases that no other case dominates. A case dominates another if it is at least as
// good in all columns and better in one.
#pragma once

#include <string>
#include <vector>

#include "simulator/report/content.h"
#include "simulator/sweep/columns.h"

namespace kvplan::sweep {

struct Front {
  std::vector<NumberColumn> columns;
  std::vector<std::string> paths;  ///< the varied paths
  /// Ordered by the first column, best first, then the second, ...; then by case
  std::vector<Point> points;
  std::int64_t compared{0};  ///< number of cases with a value in each column
};

/// The points of the front, in the order of Front::points; points that are equal in all columns are all in it. The time
/// grows with n log n for two columns, with n times the length of the front for more. REQUIRES: each column says which
/// values are better.
std::vector<Point> undominated(std::vector<Point> points, const std::vector<NumberColumn>& columns);

/// Errors: fewer than two columns, or a column that does not say which values are better.
Result<Front> pareto_front(Database& database, const std::vector<NumberColumn>& columns);

report::Table front_table(const Front& front);
/// One line for each case: its number, varied values, and the columns that are figures.
std::string front_csv(const Front& front);

}  // namespace kvplan::sweep
