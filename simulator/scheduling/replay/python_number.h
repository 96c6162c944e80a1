// Doubles in Python's `repr` form: recorded tables of Python programs are compared as text.
#pragma once

#include <string>

namespace kvplan::replays {

/// The shortest digits that read back as the same double; an exponent from 1e16 on and below 0.0001; whole numbers
/// with ".0". REQUIRES: finite.
std::string python_number(double number);

}  // namespace kvplan::replays
