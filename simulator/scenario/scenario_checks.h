// Combinations of values of a scenario that are each valid alone.
#pragma once

#include "simulator/base/result.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::plan {

/// Reports the first impossible combination of engine, memory, replacement, token policy, sparse attention and
/// format. The error's field is the path of one of them, and its text says what was expected there. REQUIRES: all are
/// chosen.
Status check_together(const Scenario& scenario);

/// Checks that the latency model can time steps with sparse attention. REQUIRES: the latency model is chosen.
Status check_reader_is_timed(const Scenario& scenario);

}  // namespace kvplan::plan
