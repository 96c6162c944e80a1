// Conditions on every recorded attention row, from any kind of file.
#pragma once

#include <cstdint>
#include <span>

#include "simulator/base/result.h"

namespace kvplan::io {

/// The properties of a row that follow from its layer.
struct RowRule {
  std::int64_t first_seen{0};  ///< weights before it are 0
  bool has_sink{false};        ///< the attention sink may have all the weight
};

/// Checks that weights are finite, not negative, and sum to more than 0 (0 is allowed with a sink) and at most 1.01
/// (rounding by the recorder; a sum below 1 is legal, since some models attend to a sink that is not a token). The
/// error's field is "row T".
Status check_row(std::span<const double> row, std::int64_t t, RowRule rule = {});
Status check_row(std::span<const float> row, std::int64_t t, RowRule rule = {});

}  // namespace kvplan::io
