#include "simulator/attention/head_intervals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "simulator/attention/replay.h"
#include "simulator/base/check.h"

namespace kvplan::attention {

Result<IntervalTable> intervals_by_head(const PolicyChoice& policy, std::int64_t layers,
                                        std::int64_t kv_heads) {
  LayerPlace place{.layers = static_cast<std::int32_t>(layers),
                   .query_heads = static_cast<std::int32_t>(kv_heads)};
  KVPLAN_TRY_DO(check_tables(policy, std::vector(static_cast<std::size_t>(layers), place.query_heads)));
  IntervalTable out;
  for (; place.layer < place.layers; ++place.layer) {
    const auto made = policy.kind->make({.choice = policy.choice, .place = place, .tables = policy.tables});
    const auto* const by_head = dynamic_cast<const HeadIntervals*>(made.get());
    KVPLAN_CHECK(by_head != nullptr, place.layer);
    out.push_back(by_head->keep());
  }
  return out;
}

double gate_of(const HeadTable& gates, std::int32_t layer, std::int32_t head) {
  return std::clamp(gates[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)], 0.0, 1.0);
}

double gate_threshold(const HeadTable& gates, double sparsity) {
  if (sparsity >= 1) return std::numeric_limits<double>::infinity();
  std::vector<double> all;
  for (const auto& layer : gates)
    for (const double gate : layer) all.push_back(std::clamp(gate, 0.0, 1.0));
  std::sort(all.begin(), all.end());
  const double at = sparsity * static_cast<double>(all.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  if (below + 1 == all.size()) return all.back();
  return all[below] + (all[below + 1] - all[below]) * (at - std::floor(at));
}

}  // namespace kvplan::attention
