// --vary of a command: as scenario/vary.h has it, or PATH=@FILE with the values in a file, one or several to a line.
#pragma once

#include <string>
#include <vector>

#include "simulator/scenario/vary.h"

namespace kvplan::cli {

/// For --help: how values are written.
inline constexpr const char* kVaryHelp =
    "'PATH=VALUE;VALUE;...': values of a path to run in turn. A..B:STEP is a range of numbers. PATH=@FILE "
    "reads one value per line. Several --vary options run all combinations";

/// PATH=@FILE as PATH=VALUE;VALUE;...; what is written otherwise stays. Errors: of the file.
Result<std::string> with_values(const std::string& text);
/// Lines of a file without values do not count. Errors: those of parse_vary, or of the file.
Result<std::vector<plan::Vary>> read_varies(const std::vector<std::string>& texts);

}  // namespace kvplan::cli
