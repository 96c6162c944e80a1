// The most attention that any eviction policy could have kept, if every token is kept from its arrival for some steps
// and then never again, with at most `budget` tokens after each step.
//
// This is a linear program over intervals, so an integral flow solves it: `budget` units of flow move along the steps.
// Where a token arrives, a unit may leave the line, follow the token while it is kept, collect the attention that
// queries give it, and return. Best paths are added one by one (successive shortest paths with potentials).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace kvplan::attention {

/// For each token: the number of decode steps after which it is no longer needed, so that at most `budget` tokens are
/// needed at a time and the sum of attention is greatest. weight[s][i]: the attention of decode step s to token i, in
/// any fixed unit; row s has prompt + s + 1 entries. A step always sees its own token. Time grows with budget x steps
/// x tokens. `stop_asked`, if set, is called many times a second; once it returns true, the result has the right size
/// but no meaning. REQUIRES: prompt >= 1, budget >= 1, weights in [0, 2^44], fewer than 2^18 steps.
std::vector<std::int64_t> needed_until(const std::vector<std::vector<std::int64_t>>& weight,
                                       std::int64_t prompt, std::int64_t budget,
                                       const std::function<bool()>& stop_asked = {});

}  // namespace kvplan::attention
