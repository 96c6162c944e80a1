// A plan as one self-contained page: the sentences of plan_text, tables and charts.
#pragma once

#include <string>

#include "simulator/planner/plan.h"

namespace kvplan::planner {

/// `command`: the command line that makes this page again.
std::string plan_html(const Plan& plan, const std::string& command);

}  // namespace kvplan::planner
