// What every recorded attention row must be, whichever file it comes from.
#pragma once

#include <cstdint>
#include <span>

#include "simulator/base/result.h"

namespace kvplan::io {

/// What the layer of a row says about it.
struct RowRule {
  std::int64_t first_seen{0};  ///< weights before it are 0
  bool has_sink{false};        ///< the sink may have it all
};

/// Weights are finite, not negative, and sum to more than 0 (with a sink from 0 on) and at most 1.01 (rounding of the
/// recorder; a sum below 1 is legal, since some models attend to a sink that is no token). The error's field is "row
/// T".
Status check_row(std::span<const double> row, std::int64_t t, RowRule rule = {});
Status check_row(std::span<const float> row, std::int64_t t, RowRule rule = {});

}  // namespace kvplan::io
