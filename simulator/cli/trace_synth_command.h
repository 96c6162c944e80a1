// kvplan trace synth: made-up traces (traces/synth/synth.h and services.h).
#pragma once

#include "simulator/cli/command.h"

namespace kvplan::cli {

/// `trace`: the command whose sub-command it becomes.
void add_trace_synth(Command& trace, Outcome& outcome);

}  // namespace kvplan::cli
