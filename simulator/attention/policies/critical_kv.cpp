// CriticalKV with SnapKV: a share of the kept tokens is chosen by the votes of the prompt's last queries, the rest by
// votes times what a token's value can add to the layer's output.
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "simulator/attention/policy.h"
#include "simulator/attention/prompt_scores.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"
#include "simulator/attention/tensor_rows.h"

namespace kvplan::attention::critical_kv {
namespace {

class CriticalKv final : public SetPolicy {
 public:
  explicit CriticalKv(const LayerInput& input)
      : place_(input.place),
        window_(prompt_window_of(input.choice)),
        share_(input.choice.decimal("share")),
        epsilon_(input.choice.decimal("epsilon")),
        aggregate_(aggregate_of(input.choice)),
        scores_(input.place) {}

  void tensors(const LayerRows& rows) override { rows_ = &rows; }

  void update(std::int32_t set, Residents& /*residents*/, std::span<const HeadRow> heads) override {
    if (place_.prompt >= window_.capacity) scores_.add(set, heads);
  }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    if (place_.prompt < window_.capacity || !scores_.prompt_ends(residents)) return;
    const std::int64_t old = place_.prompt - window_.window;
    std::vector<double> score = pool(scores_.of_set(set, old, aggregate_), window_.kernel, window_.pooling);
    const std::int64_t kept = window_.capacity - window_.window;
    // In whole tokens, rounded down; votes are sums over the window in kvplan, means in the original code.
    const auto by_votes = static_cast<std::int32_t>(share_ * static_cast<double>(kept));
    std::vector<std::int32_t> first;
    highest(score, by_votes, first);
    for (std::int64_t t = 0; t < old; ++t) {
      double& each = score[static_cast<std::size_t>(t)];
      each = (each / static_cast<double>(window_.window) + epsilon_) * output_norm(set, t);
    }
    for (const std::int32_t index : first)
      score[static_cast<std::size_t>(index)] = std::numeric_limits<double>::infinity();
    lowest(score, static_cast<std::int32_t>(old - kept), drop);
    scores_.forget(set);
  }

 private:
  /// Sum of the absolute values that the value adds to the layer's output, mean over the query heads that read it.
  [[nodiscard]] double output_norm(std::int32_t set, std::int64_t token) const {
    const LayerTensors& all = *rows_->beside();
    const auto hidden = static_cast<std::size_t>(all.hidden_size);
    double sum = 0;
    std::vector<double> added(hidden);
    for (std::int32_t g = 0; g < place_.group; ++g) {
      const std::int32_t head = set * place_.group + g;
      const ValueView values = rows_->values(head);
      const auto& weights = all.output_weights[static_cast<std::size_t>(head)];
      added.assign(hidden, 0);
      for (std::int32_t c = 0; c < values.size; ++c) {
        const auto x = static_cast<double>(values.data[token * values.size + c]);
        const float* row = weights.data() + static_cast<std::size_t>(c) * hidden;
        for (std::size_t j = 0; j < hidden; ++j) added[j] += x * static_cast<double>(row[j]);
      }
      for (const double each : added) sum += std::fabs(each);
    }
    return sum / place_.group;
  }

  LayerPlace place_;
  PromptWindow window_;
  double share_;
  double epsilon_;
  Aggregate aggregate_;
  PromptScores scores_;
  const LayerRows* rows_{nullptr};
};

constexpr std::array kParams{
    kWindowParam,
    kCapacityParam,
    kKernelParam,
    kPoolingParam,
    share_param("share", "Share of the kept tokens before the window that is selected by votes alone", "0.5"),
    Param{.name = "epsilon",
          .help = "Constant added to a token's mean vote before the multiplication",
          .kind = ParamKind::kDecimal,
          .fallback = "0.0001",
          .low = 0,
          .high = 1},
    kGroupParam,
    kAggParam,
    kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.prompt_rows = choice.integer(kWindowParam.name),
          .output_weights = true,
          .values = true,
          .count = core::KeptCount{.budget = choice.integer(kCapacityParam.name), .once = true}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<CriticalKv>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "critical-kv",
         .summary =
             "As snapkv, but a part of the kept tokens is selected by attention times the contribution of "
             "the value to the layer's output; needs recorded values and output weights",
         .source = "arXiv 2502.03805; NVIDIA/kvpress@8bb29b9 kvpress/presses/criticalkv_press.py",
         .params = kParams,
         .divergences =
             "The public code wraps any scoring method; kvplan uses SnapKV's scores, from rows or tensors. "
             "In the second stage kvpress scores the window like all other tokens. In kvplan the window "
             "always stays, as in SnapKV, and the share applies to the kept tokens before it."},
    .golden_name = "critical_kv",
    .budget = {.param = "capacity", .of_prompt = true},
    .check = check_prompt_window,
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::critical_kv
