#include "simulator/attention/reduce.h"

#include <algorithm>

#include "simulator/attention/kernels.h"

namespace kvplan::attention {

Aggregate aggregate_of(const Choice& choice) {
  return choice.text(kAggParam.name) == "max" ? Aggregate::kMax : Aggregate::kMean;
}

Weights Reducer::operator()(std::span<const HeadRow> heads) {
  if (heads.size() == 1) return {.value = heads[0].weight, .divisor = heads[0].divisor};
  const std::size_t n = heads[0].weight.size();
  const bool mean = aggregate_ == Aggregate::kMean;
  combined_.assign(n, 0.0);
  for (const HeadRow& head : heads) {
    KVPLAN_CHECK(head.weight.size() == n);
    if (mean) {
      accumulate(head.weight, head.divisor, combined_);
    } else {
      for (std::size_t i = 0; i < n; ++i)
        combined_[i] = std::max(combined_[i], head.weight[i] / head.divisor);
    }
  }
  return {.value = combined_, .divisor = mean ? static_cast<double>(heads.size()) : 1.0};
}

}  // namespace kvplan::attention
