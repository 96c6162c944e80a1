// Converts rows to another temperature: a^(1/tau), which is the softmax of logits/tau, since a row determines logits up
// to a constant.
#pragma once

#include <span>
#include <vector>

#include "simulator/attention/policy.h"

namespace kvplan::attention {

class Temper {
 public:
  /// The rows at temperature tau; valid until the next call. At 1 they are returned unchanged. REQUIRES: tau > 0.
  std::span<const HeadRow> operator()(std::span<const HeadRow> heads, double tau);

 private:
  std::vector<HeadRow> rows_;
  std::vector<std::vector<double>> weights_;  ///< [head]
};

}  // namespace kvplan::attention
