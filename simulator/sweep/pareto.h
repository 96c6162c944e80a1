// The Pareto front of a sweep: the cases that no other case beats, being at least as good in all of some columns and
// better in one.
#pragma once

#include <string>
#include <vector>

#include "simulator/report/content.h"
#include "simulator/sweep/columns.h"

namespace kvplan::sweep {

struct Front {
  std::vector<NumberColumn> columns;
  std::vector<std::string> paths;  ///< that are varied
  std::vector<Point> points;       ///< best in the first column first, then in the second, ...; then by case
  std::int64_t compared{0};        ///< cases that have a value in each column
};

/// The points of the front, in the order of Front::points; those that are equal in all columns are all in it. For two
/// columns in n log n, for more in n times the length of the front. REQUIRES: of each column it is said what is better.
std::vector<Point> undominated(std::vector<Point> points, const std::vector<NumberColumn>& columns);

/// Errors: fewer than two columns, one of which nobody says what is better.
Result<Front> pareto_front(Database& database, const std::vector<NumberColumn>& columns);

report::Table front_table(const Front& front);
/// A line for each case: its number, varied values, and the columns that are figures.
std::string front_csv(const Front& front);

}  // namespace kvplan::sweep
