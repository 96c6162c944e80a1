// --format, --map and --block: what every command that reads a trace takes.
#pragma once

#include <string>

#include "traces/record/import_options.h"

namespace CLI {
class App;  // <CLI/CLI.hpp>, for the .cpp files
}

namespace kvplan::cli {

/// The place must live as long as the command.
void add_import_options(CLI::App& command, traces::ImportOptions& options);

/// The options as a command line has them, each with a space before it; empty where none is given.
std::string import_flags(const traces::ImportOptions& options);

}  // namespace kvplan::cli
