// Policies with kept sets that follow from lengths alone: the first `sink` and the last `recent` residents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulator/attention/policy.h"

namespace kvplan::attention {

/// True: the token at `position` is kept when tokens 0 .. n-1 exist and the prompt has ended. A serving run needs no
/// more of a positional policy, and no recording. REQUIRES: 0 <= position < n.
constexpr bool keeps(KeptInterval keep, std::int64_t position, std::int64_t n) {
  return position < keep.sink || position >= n - std::min(keep.recent, n);
}

/// If more than sink + recent tokens are resident, drops those between the first `sink` and the last `recent`.
class IntervalPolicy final : public SetPolicy {
 public:
  explicit IntervalPolicy(KeptInterval keep) : keep_(keep) {}
  void evict_set(std::int32_t /*set*/, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const std::int64_t n = residents.size();
    for (std::int64_t i = keep_.sink; i < n - keep_.recent; ++i) drop.push_back(static_cast<std::int32_t>(i));
  }

 private:
  KeptInterval keep_;
};

}  // namespace kvplan::attention
