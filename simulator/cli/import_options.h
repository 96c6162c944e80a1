// --format, --map and --block: the options of every command that reads a trace.
#pragma once

#include <string>

#include "simulator/cli/options.h"

#include "traces/record/import_options.h"

namespace kvplan::cli {

/// `options` must live as long as the command.
void add_import_options(Command& command, traces::ImportOptions& options);

/// The options in command-line form, each with a space before it; empty if none was given.
std::string import_flags(const traces::ImportOptions& options);

}  // namespace kvplan::cli
