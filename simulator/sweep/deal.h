// Which cases a shard runs. The dearest case goes to the shard that has least so far, then the next one, and so on
// (longest processing time first: Graham, Bounds on multiprocessing timing anomalies, 1969). Every shard works this out
// for itself from the costs of all cases and comes to the same: each case is in exactly one.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/sweep/shard.h"

namespace kvplan::sweep {

/// The cases of a shard, in order. `costs`: of each case. Of equal costs the earlier case goes first, of equally loaded
/// shards the first one; so where all cost the same it is every N-th case from the K-th on. REQUIRES: no cost is
/// negative, and their sum does not overflow.
std::vector<std::int64_t> dealt_to(const Shard& shard, const std::vector<std::int64_t>& costs);

}  // namespace kvplan::sweep
