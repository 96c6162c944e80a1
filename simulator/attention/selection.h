// The one tie rule of all token policies: the higher score is kept; among equal scores the newer position is kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kvplan::attention {

/// Appends to `drop` the indices of the `count` lowest scores of scores[0, n), ascending. Among equal scores
/// the lower index (older token) is lower. REQUIRES: 0 <= count <= n; no NaN.
void lowest(std::span<const double> scores, std::int32_t count, std::vector<std::int32_t>& drop);

/// Appends the indices of the `count` highest scores, ascending. Among equal scores the higher index (newer
/// token) is higher: the complement of `lowest`. REQUIRES: 0 <= count <= n; no NaN.
void highest(std::span<const double> scores, std::int32_t count, std::vector<std::int32_t>& chosen);

}  // namespace kvplan::attention
