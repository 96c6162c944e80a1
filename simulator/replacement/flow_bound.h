// An upper bound on the hits of every cache of equal blocks, whatever its policy, even if blocks may bypass it: the
// largest number of reuses that fit, computed as a flow.
#pragma once

#include <string_view>

#include "simulator/replacement/references.h"

namespace kvplan::replacement {

/// Between two consecutive uses of a block lies an interval; the second use is a hit only if the block is kept
/// all through it. The largest set of intervals of which never more than `capacity` overlap is a minimum-cost
/// flow (FOO: Berger, Beckmann, Harchol-Balter 2018), integral for blocks of one size. In the flow a block may
/// bypass the cache, so the bound also holds for policies that must admit every block, and for counts of prefix
/// hits. Belady's rule with bypass reaches the bound; it is used for instances too large for the flow, and is as
/// exact.
struct FlowBound {
  std::int64_t hits{0};
  std::string_view method;  ///< "min-cost-flow" or "greedy"
  /// Number of intervals among which the flow had to choose: those where more than `capacity` overlap
  std::int64_t intervals{0};
};

/// The flow algorithm is used if intervals to choose from x capacity is at most this: it then takes some
/// seconds.
inline constexpr std::int64_t kMostFlowWork = 4'000'000;

/// Error: interrupted, if `stop_asked` is not null and returns true.
Result<FlowBound> flow_bound(const References& refs, std::int64_t capacity, bool (*stop_asked)(),
                             std::int64_t most_work = kMostFlowWork);

}  // namespace kvplan::replacement
