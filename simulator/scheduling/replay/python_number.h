// Doubles as Python writes them (`repr`): recorded tables of Python programs are compared as texts.
#pragma once

#include <string>

namespace kvplan::replays {

/// The shortest digits that read back as the same double; with an exponent from 1e16 and below 0.0001; whole numbers
/// with ".0". REQUIRES: finite.
std::string python_number(double number);

}  // namespace kvplan::replays
