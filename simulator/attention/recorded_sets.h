// Retained sets that were made elsewhere: by another program, by hand, or by an earlier `kvplan evict --json`.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::attention {

struct LayerPlace;

struct RecordedSets {
  using Sets = std::vector<std::vector<std::int32_t>>;  ///< [set] positions, ascending

  std::int64_t prompt{1};
  std::vector<Sets> after;  ///< [0] after the prompt, [i] after decode step i - 1
};

/// Errors: sets for another prompt, another number of heads or fewer steps than the sequence has; a position that comes
/// twice, out of order or back, or was not there yet.
Status check_recorded(const RecordedSets& recorded, const LayerPlace& place, std::int64_t sets,
                      std::int64_t tokens);

}  // namespace kvplan::attention
