// kvplan trace window|sample|scale|spread|merge: traces out of traces (traces/edit/edits.h).
#pragma once

#include "simulator/cli/command.h"

namespace kvplan::cli {

/// `trace`: the command whose sub-commands they become.
void add_trace_edits(Command& trace, Outcome& outcome);

}  // namespace kvplan::cli
