// What no cache of equal blocks can beat, whatever it keeps outside: the most reuses that fit, as a flow.
#pragma once

#include <string_view>

#include "simulator/replacement/references.h"

namespace kvplan::replacement {

/// From one use of a block to the next lies an interval; to find it the block has to be kept all through. The most
/// intervals of which never more than `capacity` overlap are a minimum-cost flow (FOO: Berger, Beckmann, Harchol-
/// Balter 2018), integral for blocks of one size. A block may stay outside, so no policy that must take in what
/// comes does better; nor one that counts prefixes. Belady's rule with that freedom reaches it, which is how
/// instances that are too large for the flow's algorithm are solved: as exact, by another way.
struct FlowBound {
  std::int64_t hits{0};
  std::string_view method;    ///< "min-cost-flow" or "greedy"
  std::int64_t intervals{0};  ///< that the flow had to choose from: those where more than `capacity` overlap
};

/// Instances of at most this many (intervals to choose from x capacity) go through the flow: some seconds.
inline constexpr std::int64_t kMostFlowWork = 4'000'000;

/// Error: interrupted, where `stop_asked` is not null and says so.
Result<FlowBound> flow_bound(const References& refs, std::int64_t capacity, bool (*stop_asked)(),
                             std::int64_t most_work = kMostFlowWork);

}  // namespace kvplan::replacement
