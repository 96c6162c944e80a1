// Checks for values that are impossible in every run, whatever the other values are. combinations.h says which choices
// do not work together.
#pragma once

#include "simulator/base/result.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::runs {

/// Errors: a reader for which the number of read tokens, or a window_format for which the bytes, do not follow from
/// lengths. REQUIRES: both are chosen.
Status check_told_by_lengths(const Scenario& scenario);

}  // namespace kvplan::runs
