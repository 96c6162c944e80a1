#include <array>
#include <cmath>

#include "simulator/attention/budget.h"

namespace kvplan::attention::schemes::pyramid_kv_kvpress {
namespace {

constexpr std::array kParams{
    ratio_param("ratio", "Share of the prompt that is evicted", {}),
    budget_tokens("window", "Last tokens of the prompt, which count towards each layer's budget", "64"),
    kPyramidBeta};

/// Computes in doubles, rounded half to even, in the order of the original code.
Result<Retained> retained(const BudgetInput& input) {
  KVPLAN_TRY_DO(check_layers(input));
  const auto prompt = static_cast<double>(input.prompt);
  const auto window = static_cast<double>(input.choice.integer("window"));
  const double kept = prompt * (1.0 - input.choice.decimal("ratio"));
  const double base = (window + kept) - window;
  double least = base / input.choice.decimal("beta");
  double most = base * 2 - least;
  if (most >= prompt - window) {
    most = prompt - window;
    least = base * 2 - most;
  }
  std::vector<double> out(static_cast<std::size_t>(input.layers), std::nearbyint(kept));
  if (prompt >= most && most >= least && least >= window) {
    const double step = (most - least) / static_cast<double>(input.layers - 1);
    for (std::size_t layer = 0; layer < out.size(); ++layer)
      out[layer] = std::nearbyint(most - static_cast<double>(layer) * step);
  }
  return by_layer(out);
}

}  // namespace

extern const BudgetKind kMember;
const BudgetKind kMember{
    .descriptor = {.family = kBudgetFamily,
                   .name = "pyramidkv-kvpress",
                   .summary = "A pyramid computed from a share of the prompt; all layers get the same budget "
                              "if the pyramid does not fit",
                   .source = "NVIDIA/kvpress@8bb29b9 kvpress/presses/pyramidkv_press.py",
                   .params = kParams,
                   .divergences =
                       "If the last layer's budget would be smaller than the window, all layers get the same "
                       "budget without a warning, and the policy is SnapKV. With beta 20, window 64 and 4096 "
                       "tokens this happens for ratios of 0.69 and more."},
    .retained = retained};

}  // namespace kvplan::attention::schemes::pyramid_kv_kvpress
