// Values of a scenario that a run cannot have, whatever else it has. What does not work together, combinations.h says.
#pragma once

#include "simulator/base/result.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::plan {

/// Errors: a reader or a window_format whose reads or bytes lengths do not say. REQUIRES: both are chosen.
Status check_told_by_lengths(const Scenario& scenario);

}  // namespace kvplan::plan
