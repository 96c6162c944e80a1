// Retained sets that were made elsewhere: by another program, by hand, or by an earlier `kvplan evict --json`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::attention {

struct LayerPlace;

/// Of one layer.
struct RecordedSets {
  using Sets = std::vector<std::vector<std::int32_t>>;  ///< [set] positions, ascending

  std::optional<std::int32_t> layer;  ///< not given: of any that asks
  std::vector<Sets> after;            ///< [0] after the prompt, [i] after decode step i - 1
};

struct RecordedLayers {
  std::int64_t prompt{1};
  std::vector<RecordedSets> layers;

  /// Null where it has none of that layer.
  [[nodiscard]] const RecordedSets* of(std::int32_t layer) const {
    const auto found = std::find_if(layers.begin(), layers.end(), [&](const RecordedSets& sets) {
      return !sets.layer || *sets.layer == layer;
    });
    return found == layers.end() ? nullptr : &*found;
  }
};

/// Errors: nothing of the layer; sets for another prompt, another number of heads or of steps than the sequence has; a
/// position that comes twice, out of order or back, or was not there yet.
Status check_recorded(const RecordedLayers& recorded, const LayerPlace& place, std::int64_t sets,
                      std::int64_t tokens);

}  // namespace kvplan::attention
