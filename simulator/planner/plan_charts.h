// Charts of a plan as SVG (simulator/report/charts.h says how they look). `id` makes names inside a page unique.
#pragma once

#include <string>

#include "simulator/planner/plan.h"

namespace kvplan::planner {

/// Requests in time over cost: every deployment that the search ran on the whole trace, and the front. Empty if fewer
/// than two of them have both numbers.
std::string cost_chart(const Plan& plan, const RatePlan& rate, const std::string& id);

/// How much of each limit is in use over the run of the answer. Empty without pressures.
std::string pressure_chart(const RatePlan& rate, const std::string& id);

/// The tightest target with less and with more of each resource. Empty without sensitivities.
std::string tornado_chart(const RatePlan& rate, const std::string& id);

/// GPUs needed over the trace, and those of the answer. Empty without a day.
std::string day_chart(const RatePlan& rate, const std::string& id);

}  // namespace kvplan::planner
