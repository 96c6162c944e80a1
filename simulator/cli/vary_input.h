// Parses --vary of a command: as in scenario/vary.h, or PATH=@FILE with the values in a file, one or several per line.
#pragma once

#include <string>
#include <vector>

#include "simulator/scenario/vary.h"
#include "simulator/sweep/draw.h"

namespace kvplan::cli {

/// For --help: the notation of values.
inline constexpr const char* kVaryHelp =
    "'PATH=VALUE;VALUE;...': values of a path to run in turn. A..B:STEP is a range of numbers. PATH=@FILE "
    "reads one value per line. Several --vary options run all combinations";

/// Replaces files of devices, if the path is deployment.device, by the devices said in place. Errors: those of a file.
Status read_device_files(runs::Vary& vary);

/// Empty lines of a file do not count. Errors: those of parse_vary, or of the file.
Result<runs::Vary> read_vary(const std::string& text);
Result<std::vector<runs::Vary>> read_varies(const std::vector<std::string>& texts);
/// As read_vary, for --random: a file with one line may contain a range.
Result<sweep::Spread> read_spread(const std::string& text);

}  // namespace kvplan::cli
