// The order in which the queue is asked (managers/schedule_policy.py, SchedulePolicy.calc_priority).
#pragma once

#include <deque>

#include "simulator/scheduling/sglang/request.h"

namespace kvplan::scheduling::sglang {

/// A longer queue stays as it is, and nothing is matched for it.
inline constexpr std::size_t kMostOrdered = 128;
/// A request with no more cached than this waits for another of the queue that begins with as many equal tokens: the
/// one computes them, the other finds them.
inline constexpr std::int64_t kSharedInQueue = 32;

/// lpm: the longest cached prefix first; who waits for another of the queue last; equal ones stay in their order.
/// Matching refreshes access times and splits nodes of the tree.
void order_by_longest_prefix(std::deque<Request*>& waiting, prefix::RadixPool& pool);

}  // namespace kvplan::scheduling::sglang
