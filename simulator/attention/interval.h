// Policies whose kept set is known from lengths alone: the first `sink` and the last `recent` residents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulator/attention/policy.h"

namespace kvplan::attention {

/// Drops what lies between the first `sink` and the last `recent` once more than sink + recent are resident.
class IntervalPolicy final : public TokenPolicy {
 public:
  explicit IntervalPolicy(KeptInterval keep) : keep_(keep) {}
  void evict(const Residents& residents, std::vector<std::int32_t>& drop) override {
    const std::int64_t n = residents.size();
    for (std::int64_t i = keep_.sink; i < n - keep_.recent; ++i) drop.push_back(static_cast<std::int32_t>(i));
  }

 private:
  KeptInterval keep_;
};

}  // namespace kvplan::attention
