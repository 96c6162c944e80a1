// Intervals of resampled values.
#pragma once

#include <optional>
#include <vector>

#include "simulator/planner/plan.h"

namespace kvplan::planner {

/// The share of the resamples inside an interval.
inline constexpr double kLevel = 0.9;
/// The 5th to the 95th percentile of the values, widened by 4 %, since blocks are drawn from few. Absent: no values.
std::optional<Interval> interval_of(std::vector<double> values);

}  // namespace kvplan::planner
