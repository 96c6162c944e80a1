// An upper bound for every cache of equal blocks, with any policy and any bypass: the most reuses that fit, as a
// flow.
#pragma once

#include <string_view>

#include "simulator/replacement/references.h"

namespace kvplan::replacement {

/// Between two consecutive uses of a block lies an interval; the second use is a hit only if the block is kept
/// all through it. The largest set of intervals of which never more than `capacity` overlap is a minimum-cost
/// flow (FOO: Berger, Beckmann, Harchol-Balter 2018), integral for blocks of one size. In the flow a block may
/// bypass the cache, so no policy that must admit every block does better, nor one that counts prefix hits.
/// Belady's rule with bypass reaches the bound; it solves instances that are too large for the flow algorithm,
/// just as exactly.
struct FlowBound {
  std::int64_t hits{0};
  std::string_view method;  ///< "min-cost-flow" or "greedy"
  /// Number of intervals that the flow had to choose from: those where more than `capacity` overlap
  std::int64_t intervals{0};
};

/// Instances with at most this product (intervals to choose from x capacity) use the flow algorithm: some
/// seconds.
inline constexpr std::int64_t kMostFlowWork = 4'000'000;

/// Error: interrupted, if `stop_asked` is not null and returns true.
Result<FlowBound> flow_bound(const References& refs, std::int64_t capacity, bool (*stop_asked)(),
                             std::int64_t most_work = kMostFlowWork);

}  // namespace kvplan::replacement
