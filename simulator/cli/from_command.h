// kvplan scenario from-command.
#pragma once

#include "simulator/cli/command.h"

namespace kvplan::cli {

void add_from_command(Command& scenario, Outcome& outcome);

}  // namespace kvplan::cli
