// The most attention that any eviction policy could have kept: every token is kept from its arrival for some steps
// and then is gone for good, with at most `budget` tokens after each step.
//
// That is a linear program over intervals, so a whole-numbered flow solves it: `budget` units walk along the steps;
// where a token arrives a unit may leave the line, follow the token for as long as it is kept, earn what each query
// gives it, and come back. Best paths are added one by one (successive shortest paths with potentials).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace kvplan::attention {

/// weight[s][i]: what decode step s gives token i, in any fixed unit; row s has prompt + s + 1 entries. A step sees
/// its own token in any case.
/// Returns after how many decode steps each token is no longer needed: those that are needed at a time are at most
/// `budget`, and keeping them gives the greatest sum. Time grows with budget x steps x tokens. `stop_asked`, if set, is
/// asked many times a second; once it is true what is returned has the right size and no meaning.
/// REQUIRES: prompt >= 1, budget >= 1, weights in [0, 2^44], fewer than 2^18 steps.
std::vector<std::int64_t> needed_until(const std::vector<std::vector<std::int64_t>>& weight,
                                       std::int64_t prompt, std::int64_t budget,
                                       const std::function<bool()>& stop_asked = {});

}  // namespace kvplan::attention
