// How the query heads that share a set of residents become one weight per resident.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/attention/policy.h"

namespace kvplan::attention {

enum class Aggregate : std::uint8_t { kMean, kMax };
/// From a choice with kAggParam.
Aggregate aggregate_of(const Choice& choice);

/// One weight per resident: value[i] / divisor.
struct Weights {
  std::span<const double> value;
  double divisor{1.0};
};

/// Reduces rows over the same positions: each head's row is divided by its divisor, then mean or maximum over the
/// heads. A single head is returned unchanged. The result is valid until the next call.
class Reducer {
 public:
  explicit Reducer(Aggregate aggregate) : aggregate_(aggregate) {}
  Weights operator()(std::span<const HeadRow> heads);

 private:
  Aggregate aggregate_;
  std::vector<double> combined_;
};

}  // namespace kvplan::attention
