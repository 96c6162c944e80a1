// How many tokens are kept in each layer or KV head, if these have their own counts (a budget, a policy like pyramidkv,
// or one with tables of heads), and what that means for the ranks of a deployment.
//
// A run simulates one rank. If ranks share a block table, a block is held as long as any of them needs it:
// - With counts and compaction, the rank that keeps most tokens decides how long the table is.
// - If it is known which tokens are dropped, tracks of other ranks hold blocks too (PlacedPolicy::rank_tracks).
// If ranks share no table (tables of heads; tables of layers, between stages), a deployment can be simulated if every
// rank has the same counts, in any order.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/courses/counted_course.h"
#include "simulator/retention/placed_policy.h"

namespace kvplan::runs {

// For all functions: `prompt` as in core::KeptCount; `grants` of that prompt, empty without a budget. REQUIRES:
// policy.keeps_by_layer(), and the number of kept tokens follows from lengths (PolicyTraits::count,
// PolicyKind::layer_counts or count_at, or PlacedPolicy::by_head).

/// By layer of the model: one count, or one for each KV head. If tokens are counted by steps and there is a budget,
/// the counts are what the budget grants.
std::vector<std::vector<core::KeptCount>> counts_by_layer(const PlacedPolicy& policy, std::int64_t prompt,
                                                          const attention::Grants& grants);

/// A rank's share of a layer. `layer` has one element for all KV heads, or one for each; the result is that one
/// element, or the elements of the heads that the first rank stores.
template <class Each>
std::vector<Each> share_of_rank(const std::vector<Each>& layer, std::int64_t tensor_ranks) {
  const auto heads = static_cast<std::int64_t>(layer.size());
  const std::int64_t stored = heads / tensor_ranks > 1 ? heads / tensor_ranks : 1;
  return {layer.begin(), layer.begin() + stored};
}

/// True if layers or heads have different counts for any prompt of 1, 2, 4 ... 2^20 tokens, and if counts are
/// measured.
bool layers_differ(const PlacedPolicy& policy);

/// True if some rank may keep another number of tokens than the policy's rank. Tries the same prompt lengths.
bool ranks_differ(const PlacedPolicy& policy);

/// Appends to `own`, the rank's counts of a table, counts of other ranks that may make the table longer, with no cells:
/// that of the rank that keeps most, or all counts if tokens are counted by steps, because different ranks keep most at
/// different times. `table`: the only one, or that of a layer. REQUIRES: policy.ranks_may_differ().
void add_other_counts(const PlacedPolicy& policy, std::int64_t prompt, const attention::Grants& grants,
                      std::int64_t table, std::vector<core::CountedUnits>& own);

/// Checks that all ranks keep equally many tokens. The error names ranks that keep a different number.
Status check_alike_ranks(const PlacedPolicy& policy, std::int64_t prompt, const attention::Grants& grants);

}  // namespace kvplan::runs
