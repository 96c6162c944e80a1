// Bytes on the device that a policy stores in addition to keys and values: `kvplan evict` shows their sum, and runs
// make their blocks larger by them.
#pragma once

#include <cstdint>

#include "simulator/attention/catalogue.h"
#include "simulator/attention/head_intervals.h"

namespace kvplan::attention {

inline constexpr std::int64_t kPositionBytes = 4;  ///< an entry of a map from slots to positions

struct CellMetadata {
  std::int64_t state{0};      ///< metadata of the policy for each stored (head, token)
  std::int64_t positions{0};  ///< map entries: for each stored (head, token), or for each token of a set
  bool one_map{false};        ///< true: one map serves all heads of a set of residents

  /// Bytes of one token in a set of residents that serves `heads` KV heads.
  [[nodiscard]] std::int64_t of_token(std::int64_t heads) const {
    return heads * state + (one_map ? 1 : heads) * positions;
  }
};

inline CellMetadata cell_metadata(const PolicyChoice& policy, const PolicyTraits& traits) {
  // Tokens are out of order only if one takes the slot of a dropped token and its position does not tell the slot.
  const bool mapped =
      policy.choice.text("placement") == "reuse" && !lengths_decide(traits) && !traits.keeps_everything();
  return {.state = traits.state_bytes_per_cell,
          .positions = mapped ? kPositionBytes : 0,
          .one_map = traits.scope == Scope::kLayer};
}

}  // namespace kvplan::attention
