// --format, --map and --block: what every command that reads a trace takes.
#pragma once

#include <string>

#include "simulator/cli/options.h"

#include "traces/record/import_options.h"

namespace kvplan::cli {

/// The place must live as long as the command.
void add_import_options(Command& command, traces::ImportOptions& options);

/// The options as a command line has them, each with a space before it; empty where none is given.
std::string import_flags(const traces::ImportOptions& options);

}  // namespace kvplan::cli
