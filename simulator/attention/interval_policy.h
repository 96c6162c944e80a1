// Policies whose kept set is known from lengths alone: the first `sink` and the last `recent` residents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulator/attention/policy.h"

namespace kvplan::attention {

/// True if the token at `position` is kept when tokens 0 .. n-1 are there and the prompt has ended: what a
/// serving run needs of a positional policy, without any recording. REQUIRES: 0 <= position < n.
constexpr bool keeps(KeptInterval keep, std::int64_t position, std::int64_t n) {
  return position < keep.sink || position >= n - std::min(keep.recent, n);
}

/// Drops what lies between the first `sink` and the last `recent` once more than sink + recent are resident.
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
