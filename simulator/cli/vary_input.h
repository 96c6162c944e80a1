// --vary of a command: as in scenario/vary.h, or PATH=@FILE with the values in a file, one or several per line.
#pragma once

#include <string>
#include <vector>

#include "simulator/scenario/vary.h"

namespace kvplan::cli {

/// For --help: the notation of values.
inline constexpr const char* kVaryHelp =
    "'PATH=VALUE;VALUE;...': values of a path to run in turn. A..B:STEP is a range of numbers. PATH=@FILE "
    "reads one value per line. Several --vary options run all combinations";

/// Replaces PATH=@FILE by PATH=VALUE;VALUE;...; other texts are returned unchanged. Errors: of the file.
Result<std::string> with_values(const std::string& text);
/// Lines of a file without values are skipped. Errors: those of parse_vary, or of the file.
Result<std::vector<plan::Vary>> read_varies(const std::vector<std::string>& texts);

}  // namespace kvplan::cli
