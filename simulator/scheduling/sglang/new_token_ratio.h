// The reserved share of the tokens that running requests may still generate (managers/scheduler.py, new_token_ratio).
// It falls while decode steps have room, and is estimated anew after a retraction.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulator/scheduling/sglang/params.h"

namespace kvplan::scheduling::sglang {

/// Uses doubles in SGLang's order of operations, since the last bit may decide an admission.
class NewTokenRatio {
 public:
  explicit NewTokenRatio(const Params& params)
      : initial_(std::min(0.7 * params.conservativeness, 1.0)),
        least_(std::min(initial_ * 0.14, 1.0)),
        decay_((initial_ - least_) / static_cast<double>(params.decay_steps)),
        value_(initial_) {}

  [[nodiscard]] double value() const { return value_; }
  void nothing_ran() { value_ = initial_; }
  /// Decode steps had room.
  void room_was_enough(std::int64_t steps = 1) {
    for (std::int64_t step = 0; step < steps && value_ != least_; ++step)
      value_ = std::max(value_ - decay_, least_);
  }
  /// Requests were retracted until `requests` were left; `generated` and `max_new` are sums over those that are left.
  void retracted(std::int64_t generated, std::int64_t max_new, std::int64_t requests,
                 std::int64_t retract_decode_steps) {
    value_ = std::min(1.0, static_cast<double>(generated + retract_decode_steps * requests) /
                               static_cast<double>(max_new + 1));
  }

 private:
  double initial_;
  double least_;
  double decay_;
  double value_;
};

}  // namespace kvplan::scheduling::sglang
