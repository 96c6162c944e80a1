// How many tokens stay in each layer, or in each stored head of it, where these keep numbers of their own (a budget, a
// policy like pyramidkv, or one with tables of heads), and what that asks of the ranks of a deployment.
//
// A run is of one rank. Other ranks have the same block table, so a block is held as long as any of them needs it.
// Where survivors move together and lengths say how many there are, the rank that keeps most says how long the table
// is. Where it is known which tokens are evicted, tracks of the other ranks hold blocks too
// (PlacedPolicy::rank_tracks). Where ranks share no tables (tables of heads; tables of layers, between stages), a
// deployment is followed if each rank keeps the same numbers, whatever their order.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/courses/counted_course.h"
#include "simulator/retention/placed_policy.h"

namespace kvplan::plan {

// For all: `prompt` as core::KeptCount has it; `grants` of that prompt, empty without a budget.
// REQUIRES: policy.keeps_by_layer(), and lengths say how many tokens of the policy stay (PolicyTraits::count,
// PolicyKind::layer_counts or count_at, or PlacedPolicy::by_head).

/// By layer of the model: one count, or one for each KV head. Where tokens are counted by steps and there is a budget,
/// the number that the budget grants.
std::vector<std::vector<core::KeptCount>> counts_by_layer(const PlacedPolicy& policy, std::int64_t prompt,
                                                          const attention::Grants& grants);

/// Of what a layer has, one element or one for each of its stored heads, what a rank has: the element, or the first
/// heads, as many as a rank stores.
template <class Each>
std::vector<Each> share_of_rank(const std::vector<Each>& layer, std::int64_t tensor_ranks) {
  const auto heads = static_cast<std::int64_t>(layer.size());
  const std::int64_t stored = heads / tensor_ranks > 1 ? heads / tensor_ranks : 1;
  return {layer.begin(), layer.begin() + stored};
}

/// True where some layer or head keeps another number than the others, of a prompt of 1, 2, 4 ... or 2^20 tokens. True
/// too where numbers are measured.
bool layers_differ(const PlacedPolicy& policy);

/// May some rank keep another number of tokens than the policy's rank? Asked of the same prompts.
bool ranks_differ(const PlacedPolicy& policy);

/// Adds to what the rank counts in a table, `own`, those counts of other ranks by which it may be longer, with no
/// cells: that of the rank that keeps most; where tokens are counted by steps all counts, since ranks take turns.
/// `table`: the only one, or that of a layer. REQUIRES: policy.ranks_may_differ().
void add_other_counts(const PlacedPolicy& policy, std::int64_t prompt, const attention::Grants& grants,
                      std::int64_t table, std::vector<core::CountedUnits>& own);

/// Do all ranks keep as many tokens? The error says which do not.
Status check_alike_ranks(const PlacedPolicy& policy, std::int64_t prompt, const attention::Grants& grants);

}  // namespace kvplan::plan
