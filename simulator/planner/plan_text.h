// A plan as text for a terminal: the answer on one screen.
#pragma once

#include <string>

#include "simulator/planner/plan.h"

namespace kvplan::planner {

/// Lines of at most about `width` characters. `verbose`: also every step of the search, all assumptions and refusals.
std::string plan_text(const Plan& plan, std::size_t width, bool verbose);

/// "20.0 USD an hour", "8 GPUs" without a currency.
std::string cost_text(const Plan& plan, const Option& option);

}  // namespace kvplan::planner
