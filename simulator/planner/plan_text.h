// A plan as text for a terminal: the answer on one screen.
#pragma once

#include <string>

#include "simulator/planner/plan.h"

namespace kvplan::planner {

/// Lines of at most about `width` characters. `verbose`: also every step of the search, all assumptions and refusals.
std::string plan_text(const Plan& plan, std::size_t width, bool verbose);

}  // namespace kvplan::planner
