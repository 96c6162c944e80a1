// Finds words of a command line that belong to no option and no argument, before the library parses them. The library
// would list them in reverse order, or count the value of an unknown option as one argument too many.
#pragma once

#include <string>
#include <vector>

#include "simulator/cli/options.h"

namespace kvplan::cli {

/// `words`: the words after the program's name, in order. Errors: an unknown command; unknown options and surplus
/// arguments, in order.
Status check_words(const Command& program, const std::vector<std::string>& words);

}  // namespace kvplan::cli
