// Intervals of resampled values.
#pragma once

#include <optional>
#include <vector>

#include "simulator/planner/plan.h"

namespace kvplan::planner {

/// The share of the resamples inside an interval.
inline constexpr double kLevel = 0.9;
/// Between 5 % and 95 % of the values, 4 % wider: blocks of time are drawn from few. Absent: no values.
std::optional<Interval> interval_of(std::vector<double> values);

}  // namespace kvplan::planner
