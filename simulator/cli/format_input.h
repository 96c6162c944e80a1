// A format as an option names it.
#pragma once

#include <string>

#include "simulator/formats/formats.h"

namespace kvplan::cli {

/// With its side file, if it has one, read. Errors (field: --format): no such member, wrong parameters, a file that
/// cannot be read.
Result<formats::FormatChoice> read_format_input(const std::string& text);

}  // namespace kvplan::cli
