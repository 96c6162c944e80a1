// The cases of a shard. The most expensive case goes to the shard with the least load so far, then the next one, and
// so on (longest processing time first: Graham, Bounds on multiprocessing timing anomalies, 1969). Every shard
// computes this for itself from the costs of all cases, with the same result: each case is in exactly one shard.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/sweep/shard.h"

namespace kvplan::sweep {

/// The cases of a shard, in order. `costs`: by case. Of equal costs the earlier case is dealt first, of equally
/// loaded shards the first one is chosen; so with equal costs it is every N-th case from the K-th on. REQUIRES: no
/// cost is negative, and their sum does not overflow.
std::vector<std::int64_t> dealt_to(const Shard& shard, const std::vector<std::int64_t>& costs);

}  // namespace kvplan::sweep
