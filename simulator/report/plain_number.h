// Numbers in the tables that commands print.
#pragma once

#include <string>

namespace kvplan::report {

/// A number with this many digits after the point, not grouped.
std::string plain_number(double value, int decimals);
/// A relative error with four digits after the point; "-" where outputs are all zero, for which the JSON has null.
std::string error_text(double error);

}  // namespace kvplan::report
