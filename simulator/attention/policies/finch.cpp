// FINCH: once, when the prompt ends, the question at its end votes for the context before it. The vote of a query is
// multiplied by the number of tokens that it sees, so that early and late queries count the same.
#include <algorithm>
#include <array>
#include <memory>

#include "simulator/attention/policy.h"
#include "simulator/attention/prompt_scores.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::finch {
namespace {

/// Number of kept tokens for a prompt of this length.
std::int64_t kept_of(std::int64_t prompt, double ratio) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(prompt) * (1.0 - ratio)));
}

class Finch final : public SetPolicy {
 public:
  Finch(const LayerPlace& place, const Choice& choice)
      : prompt_(place.prompt),
        question_(std::min(choice.integer("window"), place.prompt)),
        keep_(kept_of(place.prompt, choice.decimal("ratio"))),
        aggregate_(aggregate_of(choice)),
        scores_(place) {}

  void update(std::int32_t set, Residents& /*residents*/, std::span<const HeadRow> heads) override {
    weighted_.resize(heads.size());
    rows_.assign(heads.begin(), heads.end());
    for (std::size_t h = 0; h < heads.size(); ++h) {
      weighted_[h].assign(heads[h].weight.begin(), heads[h].weight.end());
      const auto seen = static_cast<double>(heads[h].weight.size());
      for (double& weight : weighted_[h]) weight = weight / heads[h].divisor * seen;
      rows_[h].weight = weighted_[h];
      rows_[h].divisor = 1.0;
    }
    scores_.add(set, rows_);
  }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    if (!scores_.prompt_ends(residents)) return;
    const std::int64_t context = prompt_ - question_;
    const auto votes = scores_.of_set(set, context, aggregate_);
    scores_.forget(set);
    lowest(votes, static_cast<std::int32_t>(std::min(context, prompt_ - keep_)), drop);
    // The question is kept before the context; if not even the question fits, its newest tokens are kept.
    for (std::int64_t i = context; i < prompt_ - keep_; ++i) drop.push_back(static_cast<std::int32_t>(i));
  }

 private:
  std::int64_t prompt_;
  std::int64_t question_;
  std::int64_t keep_;
  Aggregate aggregate_;
  PromptScores scores_;
  std::vector<std::vector<double>> weighted_;
  std::vector<HeadRow> rows_;
};

constexpr std::array kParams{Param{.name = "window",
                                   .help = "Tokens of the question, which is at the end of the prompt",
                                   .unit = Unit::kTokens,
                                   .fallback = {},
                                   .low = 1,
                                   .high = kMaxTokens},
                             Param{.name = "ratio",
                                   .help = "Share of the prompt that is evicted",
                                   .kind = ParamKind::kDecimal,
                                   .unit = Unit::kRatio,
                                   .fallback = "0.5",
                                   .low = 0,
                                   .high = 1},
                             kGroupParam, kAggParam, kPlacementParam};

core::KeptCount count_at(const Choice& choice, std::int64_t prompt, std::int64_t /*tokens*/) {
  return {.budget = kept_of(prompt, choice.decimal("ratio")), .once = true};
}
PolicyTraits traits(const Choice& choice) {
  return {.prompt_rows = choice.integer("window"), .moves_positions = true, .count_at = count_at};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<Finch>(input.place, input.choice);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "finch",
         .summary = "When the prompt ends, keeps the question and the context tokens that the question "
                    "attends to most",
         .source =
             "FINCH (TACL 2024, 10.1162/tacl_a_00716); NVIDIA/kvpress@8bb29b9 kvpress/presses/finch_press.py",
         .params = kParams,
         .divergences = "kvpress multiplies the row of the query at position t by t, which is one less than "
                        "the number of tokens that the query sees; kvplan multiplies by all of them. kvpress "
                        "finds the question by a delimiter; kvplan takes its length as a parameter. Paper "
                        "and kvpress rotate the kept keys to new positions."},
    .golden_name = "finch",
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::finch
