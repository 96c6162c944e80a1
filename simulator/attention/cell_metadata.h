// Bytes that a policy keeps beside the cells of the cache, on the device: the sum that `kvplan evict` shows
// and by which runs widen their blocks.
#pragma once

#include <cstdint>

#include "simulator/attention/catalogue.h"
#include "simulator/attention/head_intervals.h"

namespace kvplan::attention {

inline constexpr std::int64_t kPositionBytes = 4;  ///< an entry of a map from slots to positions

struct CellMetadata {
  std::int64_t state{0};      ///< numbers of the policy beside each stored (head, token)
  std::int64_t positions{0};  ///< map entries: per stored (head, token), or per token of a set
  bool one_map{false};        ///< one map serves all heads of a set of residents

  /// Of one token in one set of residents that serves `heads` KV heads.
  [[nodiscard]] std::int64_t of_token(std::int64_t heads) const {
    return heads * state + (one_map ? 1 : heads) * positions;
  }
};

inline CellMetadata cell_metadata(const PolicyChoice& policy, const PolicyTraits& traits) {
  // Out of order only where a token takes the place of a dropped one and positions do not tell which.
  const bool mapped =
      policy.choice.text("placement") == "reuse" && !lengths_decide(traits) && !traits.keeps_everything();
  return {.state = traits.state_bytes_per_cell,
          .positions = mapped ? kPositionBytes : 0,
          .one_map = traits.scope == Scope::kLayer};
}

}  // namespace kvplan::attention
