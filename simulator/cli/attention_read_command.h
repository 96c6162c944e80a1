// kvplan attention read: sparse attention methods on recorded queries, keys and values (simulator/readers).
#pragma once

#include "simulator/cli/command.h"

namespace kvplan::cli {

/// `attention`: the parent command.
void add_attention_read(Command& attention, Outcome& outcome);

}  // namespace kvplan::cli
