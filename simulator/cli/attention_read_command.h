// kvplan attention read: readers on recorded queries, keys and values (simulator/readers).
#pragma once

#include "simulator/cli/command.h"

namespace kvplan::cli {

/// `attention`: the command whose sub-command it becomes.
void add_attention_read(Command& attention, Outcome& outcome);

}  // namespace kvplan::cli
