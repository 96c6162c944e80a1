// kvplan attention plot: a survey of a recording as tables, maps and numbers (simulator/survey).
#pragma once

#include "simulator/cli/command.h"

namespace kvplan::cli {

/// `attention`: the parent command.
void add_attention_plot(Command& attention, Outcome& outcome);

}  // namespace kvplan::cli
