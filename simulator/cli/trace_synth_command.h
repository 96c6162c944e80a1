// kvplan trace synth: synthetic traces (traces/synth/synth.h and services.h).
#pragma once

#include "simulator/cli/command.h"

namespace kvplan::cli {

/// `trace`: the parent command.
void add_trace_synth(Command& trace, Outcome& outcome);

}  // namespace kvplan::cli
