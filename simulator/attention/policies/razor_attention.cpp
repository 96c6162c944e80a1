// RazorAttention: heads that retrieve earlier text (induction and echo heads) keep everything, the others only the
// first and newest tokens.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "simulator/attention/head_intervals.h"
#include "simulator/attention/policy.h"

namespace kvplan::attention::razor_attention {
namespace {

/// Marks the `share` of all heads with the highest scores, rounded up; among equal scores the earlier head.
void mark_highest(const HeadTable& scores, double share, std::int32_t layer, std::vector<bool>& whole) {
  struct Entry {
    double score;
    std::size_t layer;
    std::size_t head;
  };
  std::vector<Entry> all;
  for (std::size_t l = 0; l < scores.size(); ++l)
    for (std::size_t h = 0; h < scores[l].size(); ++h) all.push_back({scores[l][h], l, h});
  std::stable_sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.score > b.score; });
  const auto count = static_cast<std::size_t>(std::ceil(share * static_cast<double>(all.size())));
  for (std::size_t i = 0; i < count; ++i)
    if (all[i].layer == static_cast<std::size_t>(layer)) whole[all[i].head] = true;
}

constexpr std::array kParams{
    head_table_param(
        "induction",
        "Induction score of each KV head, that is how much it attends to the token after an earlier "
        "occurrence of the same token: a JSON file with one list per layer, or the lists themselves"),
    head_table_param("echo",
                     "Echo score of each KV head, that is how much it attends to earlier occurrences of the "
                     "same token; same form as induction"),
    share_param("induction_share", "Share of all heads that keep everything because of their induction score",
                "0.14"),
    share_param("echo_share", "Share of all heads that keep everything because of their echo score", "0.01"),
    Param{.name = "sink",
          .help = "First tokens that the other heads keep",
          .unit = Unit::kTokens,
          .fallback = "4",
          .low = 0,
          .high = kMaxTokens},
    tokens_param("recent", "Newest tokens that the other heads keep", 1),
    kGroupParam,
    kAggParam,
    kPlacementParam};

PolicyTraits traits(const Choice& /*choice*/) {
  return {.head_tables = true};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  const LayerPlace& place = input.place;
  std::vector<bool> of_model(static_cast<std::size_t>(place.model_kv_heads()));
  mark_highest(input.tables[0], input.choice.decimal("induction_share"), place.layer, of_model);
  mark_highest(input.tables[1], input.choice.decimal("echo_share"), place.layer, of_model);
  std::vector<bool> whole;
  for (std::int32_t head = 0; head < place.kv_heads(); ++head)
    whole.push_back(of_model[static_cast<std::size_t>(place.head_number(head))]);
  return std::make_unique<HeadIntervals>(
      whole, KeptInterval{.sink = input.choice.integer("sink"), .recent = input.choice.integer("recent")});
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "razor-attention",
         .summary = "Induction and echo heads keep everything; the other heads keep first and newest tokens",
         .source = "arXiv 2407.15891 (paper only)",
         .params = kParams,
         .divergences =
             "In the paper, each of the other heads keeps one extra compensation token: the mean of the "
             "evicted keys and values. It is not a token of the sequence, so kvplan leaves it out of token "
             "sets, masses and bytes. The paper's window is a fifth of the prompt, at least 4000 tokens."},
    .golden_name = "razor_attention",
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::razor_attention
