// A plan as JSON. Keys: those of the first rate stand in the outer object, those of every rate in `rates`.
#pragma once

#include <string>

#include "simulator/planner/plan.h"

namespace kvplan::planner {

std::string plan_json(const Plan& plan);

}  // namespace kvplan::planner
