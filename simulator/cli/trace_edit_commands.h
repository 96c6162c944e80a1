// kvplan trace window|sample|scale|spread|merge: make traces from traces (traces/edit/edits.h).
#pragma once

#include "simulator/cli/command.h"

namespace kvplan::cli {

/// `trace`: the parent command.
void add_trace_edits(Command& trace, Outcome& outcome);

}  // namespace kvplan::cli
