// Retained sets from a file: of another program, written by hand, or from an earlier `kvplan evict --json`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::attention {

struct LayerPlace;

/// The sets of one layer.
struct RecordedSets {
  using Sets = std::vector<std::vector<std::int32_t>>;  ///< [set] positions, ascending

  std::optional<std::int32_t> layer;  ///< absent: for any layer
  std::vector<Sets> after;            ///< [0] after the prompt, [i] after decode step i - 1
};

struct RecordedLayers {
  std::string file{};  ///< the file that they are from, for errors; may be empty
  std::int64_t prompt{1};
  std::vector<RecordedSets> layers;

  /// The sets of a layer; null if there are none.
  [[nodiscard]] const RecordedSets* of(std::int32_t layer) const {
    const auto found = std::find_if(layers.begin(), layers.end(), [&](const RecordedSets& sets) {
      return !sets.layer || *sets.layer == layer;
    });
    return found == layers.end() ? nullptr : &*found;
  }
};

/// Errors: no sets for the layer; sets for another prompt, number of heads or number of steps than the sequence has; a
/// position that is repeated, out of order, kept again after it was dropped, or kept before its token existed.
Status check_recorded(const RecordedLayers& recorded, const LayerPlace& place, std::int64_t sets,
                      std::int64_t tokens);

}  // namespace kvplan::attention
