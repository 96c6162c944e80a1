#include "simulator/retention/layer_counts.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "simulator/model/ranks.h"
#include "simulator/scenario/combinations.h"

namespace kvplan::runs {
namespace {

using Counts = std::vector<core::KeptCount>;

Counts ascending(Counts heads) {
  std::sort(heads.begin(), heads.end());
  return heads;
}

/// For each kind of layer, by the counts of its heads on a rank: the number of such layers.
using Tally = std::map<Counts, std::int64_t>;

/// True if both stages have each kind of layer in the same proportion.
bool alike(const Tally& a, std::int64_t layers_of_a, const Tally& b, std::int64_t layers_of_b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& one, const auto& other) {
    return one.first == other.first && one.second * layers_of_b == other.second * layers_of_a;
  });
}

/// `others`: the layers or heads of a rank that keep other numbers of tokens.
Error refused(const PlacedPolicy& policy, const std::string& others, std::int64_t prompt) {
  const std::string said = policy.budget ? "budget=" + std::string(policy.budget->choice().name())
                                         : "eviction=" + std::string(policy.policy.choice.name());
  return refused_together(
      Part::kRanks, Part::kNumbersByPart, said,
      "of a prompt of " + std::to_string(prompt) + " tokens it keeps different numbers in " + others);
}

/// The first tensor-parallel rank that has other counts for its heads of this layer than the first rank; 0: none.
std::int64_t other_rank(const std::vector<core::KeptCount>& heads, std::int64_t ranks) {
  const auto count = static_cast<std::int64_t>(heads.size());
  if (count == 1 || std::all_of(heads.begin(), heads.end(), [&](const auto& h) { return h == heads[0]; }))
    return 0;
  if (count % ranks != 0) return 1;  // heads are stored by several ranks, or unevenly
  const auto share = static_cast<std::ptrdiff_t>(count / ranks);
  const auto of_rank = [&](std::int64_t rank) {
    const auto begin = heads.begin() + rank * share;
    return ascending({begin, begin + share});
  };
  for (std::int64_t rank = 1; rank < ranks; ++rank)
    if (of_rank(rank) != of_rank(0)) return rank;
  return 0;
}

/// Calls `ask` for prompts of 1, 2, 4 ... 2^20 tokens until it returns true.
template <class Ask>
bool any_prompt(const PlacedPolicy& policy, Ask ask) {
  constexpr std::int64_t kLongest = std::int64_t{1} << 20;
  for (std::int64_t prompt = 1; prompt <= kLongest; prompt *= 2) {
    attention::Grants grants;
    if (policy.budget) {
      auto granted = policy.budget->grants(prompt);
      if (!granted.ok()) continue;  // a prompt of this length is never admitted
      grants = std::move(granted).value();
    }
    if (ask(prompt, grants)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::vector<core::KeptCount>> counts_by_layer(const PlacedPolicy& policy, std::int64_t prompt,
                                                          const attention::Grants& grants) {
  std::vector<std::vector<core::KeptCount>> out;
  for (const auto& layer : policy.by_head) {
    out.emplace_back();
    for (const attention::KeptInterval& keep : layer)
      out.back().push_back({.budget = keep.sink + keep.recent});
  }
  if (!out.empty()) return out;
  if (!policy.budget) {
    for (const core::KeptCount& kept :
         policy.policy.kind->layer_counts(policy.policy.choice, prompt, policy.layers))
      out.push_back({kept});
    return out;
  }
  for (const std::vector<std::int64_t>& layer : grants.tokens) {
    out.emplace_back();
    for (const std::int64_t tokens : layer)
      out.back().push_back(policy.counts_by_steps
                               ? core::KeptCount{.budget = tokens}
                               : attention::count_with_budget(policy.policy, tokens, prompt));
  }
  return out;
}

bool layers_differ(const PlacedPolicy& policy) {
  if (policy.budget && policy.budget->measured()) return true;
  return any_prompt(policy, [&](std::int64_t prompt, const attention::Grants& grants) {
    const auto layers = counts_by_layer(policy, prompt, grants);
    return std::any_of(layers.begin(), layers.end(), [&](const auto& layer) {
      return std::any_of(layer.begin(), layer.end(),
                         [&](const core::KeptCount& kept) { return kept != layers[0][0]; });
    });
  });
}

bool ranks_differ(const PlacedPolicy& policy) {
  if (policy.rank.ranks() == 1) return false;
  if (policy.budget && policy.budget->measured()) return true;
  return any_prompt(policy, [&](std::int64_t prompt, const attention::Grants& grants) {
    return !check_alike_ranks(policy, prompt, grants).ok();
  });
}

void add_other_counts(const PlacedPolicy& policy, std::int64_t prompt, const attention::Grants& grants,
                      std::int64_t table, std::vector<core::CountedUnits>& own) {
  const auto layers = counts_by_layer(policy, prompt, grants);
  const bool of_all = policy.tables == 1;
  const auto first = of_all ? layers.begin() : layers.begin() + table;
  core::KeptCount most;
  for (const core::CountedUnits& each : own) most = each.kept.budget > most.budget ? each.kept : most;
  const std::int64_t own_most = most.budget;
  for (auto layer = first; layer != (of_all ? layers.end() : first + 1); ++layer)
    for (const core::KeptCount& kept : *layer) {
      const bool known = std::any_of(own.begin(), own.end(), [&](const auto& o) { return o.kept == kept; });
      if (policy.counts_by_steps && !known) own.push_back({kept, 0});
      if (kept.budget > most.budget) most = kept;
    }
  if (!policy.counts_by_steps && most.budget > own_most) own.push_back({most, 0});
}

Status check_alike_ranks(const PlacedPolicy& policy, std::int64_t prompt, const attention::Grants& grants) {
  const RankBytes& bytes = policy.rank;
  if (bytes.ranks() == 1) return Done{};
  const auto layers = counts_by_layer(policy, prompt, grants);
  for (std::size_t l = 0; l < layers.size(); ++l)
    if (const std::int64_t rank = other_rank(layers[l], bytes.tensor_ranks); rank > 0)
      return refused(policy,
                     "the heads of rank " + std::to_string(rank) + " than in the heads of rank 0, in layer " +
                         std::to_string(l),
                     prompt);
  std::vector<Tally> stages;
  const auto sizes = model::layers_of_stages(policy.layers, bytes.stages, bytes.stage_layers);
  std::size_t l = 0;
  for (const std::int64_t size : sizes) {
    stages.emplace_back();
    for (std::int64_t i = 0; i < size; ++i)
      ++stages.back()[ascending(share_of_rank(layers[l++], bytes.tensor_ranks))];
  }
  const auto own = static_cast<std::size_t>(bytes.stage);
  for (std::size_t stage = 0; stage < stages.size(); ++stage)
    if (!alike(stages[stage], sizes[stage], stages[own], sizes[own]))
      return refused(policy,
                     "the layers of stage " + std::to_string(stage) + " than in the layers of stage " +
                         std::to_string(own),
                     prompt);
  return Done{};
}

}  // namespace kvplan::runs
