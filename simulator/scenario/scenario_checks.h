// Checks of values that no run can have, whatever else it has. combinations.h says which choices do not work
// together.
#pragma once

#include "simulator/base/result.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::runs {

/// Errors: a reader with reads, or a window_format with bytes, that do not follow from lengths. REQUIRES: both are
/// chosen.
Status check_told_by_lengths(const Scenario& scenario);

}  // namespace kvplan::runs
