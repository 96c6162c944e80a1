// Values of a scenario that are good each for itself and do not go together.
#pragma once

#include "simulator/base/result.h"
#include "simulator/plan/scenario.h"

namespace kvplan::plan {

/// The first pair that does not go together, of engine, memory, replacement, token policy and format. The error's field
/// is the path of one of them, and its text says what was expected there. REQUIRES: all of them are chosen.
Status check_together(const Scenario& scenario);

}  // namespace kvplan::plan
