// Observed attention: once, when the prompt ends, each token is scored by the attention that it received, divided by
// the number of queries that could see it; the best share is kept, and generated tokens are only appended.
#include <memory>

#include "simulator/attention/policy.h"
#include "simulator/attention/prompt_scores.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::observed_attention {
namespace {

/// The share is taken in doubles and truncated, as the original does.
std::int64_t kept_of(std::int64_t prompt, double ratio) {
  return static_cast<std::int64_t>(static_cast<double>(prompt) * (1.0 - ratio));
}

class ObservedAttention final : public SetPolicy {
 public:
  ObservedAttention(const LayerPlace& place, double ratio, Aggregate aggregate)
      : prompt_(place.prompt), group_(place.group), ratio_(ratio), aggregate_(aggregate), scores_(place) {}

  void update(std::int32_t set, Residents& /*residents*/, std::span<const HeadRow> heads) override {
    scores_.add(set, heads);
  }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    if (!scores_.prompt_ends(residents)) return;
    for (std::int32_t h = set * group_; h < (set + 1) * group_; ++h) {
      std::int64_t queries = prompt_;
      for (double& score : scores_.of_head(h)) score /= static_cast<double>(queries--);
    }
    lowest(scores_.of_set(set, prompt_, aggregate_),
           static_cast<std::int32_t>(prompt_ - kept_of(prompt_, ratio_)), drop);
    scores_.forget(set);
  }

 private:
  std::int64_t prompt_;
  std::int32_t group_;
  double ratio_;
  Aggregate aggregate_;
  PromptScores scores_;
};

constexpr std::array kParams{
    Param{.name = "ratio",
          .help = "Share of the prompt that is evicted: int(P * (1 - ratio)) tokens stay",
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = {},
          .low = 0,
          .high = 1},
    kGroupParam, kAggParam, kPlacementParam};

core::KeptCount count_at(const Choice& choice, std::int64_t prompt, std::int64_t /*tokens*/) {
  return {.budget = kept_of(prompt, choice.decimal("ratio")), .once = true};
}
PolicyTraits traits(const Choice& /*choice*/) {
  return {.prompt_rows = kAllRows, .count_at = count_at};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<ObservedAttention>(input.place, input.choice.decimal("ratio"),
                                             aggregate_of(input.choice));
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "observed-attention",
                   .summary = "When the prompt ends, keeps the tokens that received most attention per query",
                   .source = "NVIDIA/kvpress@8bb29b9 kvpress/presses/observed_attention_press.py",
                   .params = kParams,
                   .divergences =
                       "kvpress relates this policy to H2O. It differs: it divides by the number of queries "
                       "that can see a token, protects no recent token, and acts only on the prompt."},
    .golden_name = "observed_attention",
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::observed_attention
