// Values of a scenario that are good each for itself and do not go together.
#pragma once

#include "simulator/base/result.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::plan {

/// The first pair that does not go together, of engine, memory, replacement, token policy, reader and format. The
/// error's field is the path of one of them, and its text says what was expected there. REQUIRES: all are chosen.
Status check_together(const Scenario& scenario);

/// That steps in which a part is read can be timed. REQUIRES: the latency model is chosen.
Status check_reader_is_timed(const Scenario& scenario);

}  // namespace kvplan::plan
