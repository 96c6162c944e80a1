// H2O, heavy-hitter oracle, in the form that really drops tokens (utils_real_drop): every resident accumulates the
// weight that it receives; the newest `recent` are protected, and the `hh` heaviest of the others are kept.
#include <memory>
#include <vector>

#include "simulator/attention/kernels.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/score_rows.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::h2o {
namespace {

constexpr int kScore = 0;

class H2o final : public SetPolicy {
 public:
  H2o(const LayerPlace& place, std::int64_t heavy, std::int64_t recent, Aggregate aggregate)
      : heavy_(heavy),
        recent_(recent),
        reduce_(aggregate),
        lowest_(static_cast<std::size_t>(place.kv_heads()), kUnknown) {}

  void update(std::int32_t set, Residents& residents, std::span<const HeadRow> heads) override {
    const Weights weights = reduce_(heads);
    const auto score = residents.column(kScore);
    auto& least = lowest_[static_cast<std::size_t>(set)];
    // The usual case: one token came in, so one must be dropped. Then the pass that adds weights also finds the lowest.
    if (residents.size() == heavy_ + recent_ + 1) {
      least = accumulate_and_find_lowest(weights.value, weights.divisor, score,
                                         static_cast<std::int32_t>(heavy_ + 1));
    } else {
      accumulate(weights.value, weights.divisor, score);
      least = kUnknown;
    }
  }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const std::int64_t excess = residents.size() - heavy_ - recent_;
    if (excess <= 0) return;
    const std::int32_t least = lowest_[static_cast<std::size_t>(set)];
    if (least != kUnknown && excess == 1) {
      drop.push_back(least);
      return;
    }
    const auto candidates = static_cast<std::size_t>(residents.size() - recent_);
    lowest(residents.column(kScore).first(candidates), static_cast<std::int32_t>(excess), drop);
  }

 private:
  static constexpr std::int32_t kUnknown = -1;
  std::int64_t heavy_;
  std::int64_t recent_;
  Reducer reduce_;
  std::vector<std::int32_t> lowest_;  ///< [set] the token found by the latest update, if one is too many
};

constexpr std::array kParams{
    tokens_param("hh", "Tokens kept for their accumulated attention (heavy hitters)", 0),
    tokens_param("recent", "Newest tokens, always kept", 0),
    kScoreRowsParam,
    kGroupParam,
    kAggParam,
    kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.rows = score_rows_of(choice),
          .prompt_rows = kAllRows,
          .decode_rows = true,
          .columns = 1,
          .state_bytes_per_cell = 4,  // an fp32 accumulator for each stored (head, token)
          .budget = choice.integer("hh") + choice.integer("recent"),
          .count = core::KeptCount{choice.integer("hh") + choice.integer("recent")}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<H2o>(input.place, input.choice.integer("hh"), input.choice.integer("recent"),
                               aggregate_of(input.choice));
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "h2o",
         .summary =
             "Keeps the newest tokens and the tokens with the most accumulated attention (heavy hitters)",
         .source = "arXiv 2306.14048; FMInference/H2O@ac75c2a h2o_hf/utils_real_drop",
         .params = kParams,
         .divergences =
             "H2O has four public versions. This one frees the evicted tokens; h2o-masked masks them. "
             "utils_lm_eval computes its statistics from later rows too. FlexGen keeps n - 1 heavy hitters "
             "and n + 1 recent tokens. Other projects use the name for other policies: KVCache-Factory's "
             "version acts only on the prompt, with 8 recent tokens; kvpress's version is "
             "observed-attention; R-KV's baseline scores by the last query alone, as a tova per head would."},
    .golden_name = "h2o_real_drop",
    .budget = {.param = "hh", .beside = "recent"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::h2o
