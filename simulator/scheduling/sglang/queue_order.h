// The order in which queued requests are asked (managers/schedule_policy.py, SchedulePolicy.calc_priority).
#pragma once

#include <deque>

#include "simulator/scheduling/sglang/request.h"

namespace kvplan::scheduling::sglang {

/// A longer queue is not ordered, and nothing is matched for it.
inline constexpr std::size_t kMostOrdered = 128;
/// A request with no more cached tokens than this waits if another request of the queue begins with as many equal
/// tokens: the other one computes them, then this one hits them.
inline constexpr std::int64_t kSharedInQueue = 32;

/// lpm: longest cached prefix first; requests that wait for another one last; ties keep their order. Matching
/// refreshes access times and splits nodes of the tree.
void order_by_longest_prefix(std::deque<Request*>& waiting, prefix::RadixPool& pool);

}  // namespace kvplan::scheduling::sglang
