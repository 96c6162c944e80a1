// What every recorded attention row must be, whichever file it comes from.
#pragma once

#include <cstdint>
#include <span>

#include "simulator/base/result.h"

namespace kvplan::io {

/// Weights are finite, not negative, and sum to more than 0 and at most 1.01 (rounding of the recorder; a sum
/// below 1 is legal, since some models attend to a sink that is no token). The error's field is "row T".
Status check_row(std::span<const double> row, std::int64_t t);
Status check_row(std::span<const float> row, std::int64_t t);

}  // namespace kvplan::io
