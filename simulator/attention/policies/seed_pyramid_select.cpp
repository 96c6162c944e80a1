// The selection of the pyramid in kvplan's design notes: half of the budget for the newest tokens, the other half for
// the tokens with the most weight in the last query.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "simulator/attention/kernels.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::seed_pyramid_select {
namespace {

constexpr int kScore = 0;
constexpr std::array<std::string_view, 4> kScores{"weight", "prefix", "value-norm", "value-sum"};

bool takes_values(const Choice& choice) {
  return choice.text("importance").starts_with("value-");
}

class SeedPyramidSelect final : public SetPolicy {
 public:
  explicit SeedPyramidSelect(const LayerInput& input)
      : budget_(input.choice.integer("budget")),
        prefix_(input.choice.text("importance") == "prefix"),
        by_values_(takes_values(input.choice)),
        sizes_(input.choice.text("importance") == "value-norm"),
        group_(input.place.group),
        reduce_(aggregate_of(input.choice)) {}

  void tensors(const LayerRows& rows) override { rows_ = &rows; }
  void update(std::int32_t set, Residents& residents, std::span<const HeadRow> heads) override {
    const Weights weights = reduce_(heads);
    const auto score = residents.column(kScore);
    assign_scaled(weights.value, weights.divisor, score);
    if (by_values_)
      for (std::size_t i = 0; i < score.size(); ++i) score[i] *= value_sum(set, residents.positions()[i]);
    if (!prefix_) return;
    double sum = 0;
    for (double& each : score) {
      sum += each;
      each = sum > 0 ? each / sum : 0.0;
    }
  }

  void evict_set(std::int32_t /*set*/, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const std::int64_t excess = residents.size() - budget_;
    if (excess <= 0) return;
    const auto others = static_cast<std::size_t>(residents.size() - budget_ / 2);
    lowest(residents.column(kScore).first(others), static_cast<std::int32_t>(excess), drop);
  }

 private:
  /// The sum of the elements of the token's value, or of their absolute values.
  [[nodiscard]] double value_sum(std::int32_t set, std::int32_t token) const {
    const ValueView values = rows_->values(set * group_);
    double sum = 0;
    for (std::int32_t c = 0; c < values.size; ++c) {
      const auto x = static_cast<double>(values.data[std::int64_t{token} * values.size + c]);
      sum += sizes_ ? std::fabs(x) : x;
    }
    return sum;
  }

  std::int64_t budget_;
  bool prefix_;
  bool by_values_;
  bool sizes_;  ///< true: absolute values of elements; false: elements with their signs
  std::int32_t group_;
  Reducer reduce_;
  const LayerRows* rows_{nullptr};
};

constexpr std::array kParams{
    tokens_param("budget", "Tokens kept; half of them are the newest", 1),
    Param{.name = "importance",
          .help = "Importance of a token: its weight in the last row; that weight divided by the sum of all "
                  "weights up to the token (prefix); or the weight times the norm (value-norm) or the sum of "
                  "elements (value-sum) of its value",
          .kind = ParamKind::kText,
          .fallback = "weight",
          .choices = kScores},
    kGroupParam, kAggParam, kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  const std::int64_t budget = choice.integer("budget");
  return {.prompt_rows = 1,
          .decode_rows = true,
          .columns = 1,
          .values = takes_values(choice),
          .budget = budget,
          .count = core::KeptCount{budget}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<SeedPyramidSelect>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "seed-pyramid-select",
                   .summary =
                       "Keeps the newest tokens for half of the budget, and the tokens most important to the "
                       "last query for the other half",
                   .source =
                       "kvplan's design notes on KV caches, section 4.1 (selection in a pyramid's layer)",
                   .params = kParams,
                   .divergences =
                       "The code in the design notes has an index error that loses the most important "
                       "tokens, and returns tokens out of order; kvplan follows the text. The code's "
                       "importance sums attention times values over the keys before each token, which does "
                       "not score that token; each choice of the parameter importance is one interpretation "
                       "of the text. With an odd budget, the larger half is the important one."},
    .golden_name = "seed_pyramid_select",
    .budget = {.param = "budget"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::seed_pyramid_select
