// The order in which queued requests are tried (managers/schedule_policy.py, SchedulePolicy.calc_priority).
#pragma once

#include <deque>

#include "simulator/scheduling/sglang/request.h"

namespace kvplan::scheduling::sglang {

/// If the queue is longer, it is not ordered, and no prefixes are matched for it.
inline constexpr std::size_t kMostOrdered = 128;
/// A request with at most this many cached tokens waits if its first tokens equal those of another request in the
/// queue, more than this many of them: the other request computes them, and then this one hits them.
inline constexpr std::int64_t kSharedInQueue = 32;

/// lpm: longest cached prefix first; requests that wait for another one last; ties keep their order. Matching
/// refreshes access times and splits nodes of the tree.
void order_by_longest_prefix(std::deque<Request*>& waiting, prefix::RadixPool& pool);

}  // namespace kvplan::scheduling::sglang
