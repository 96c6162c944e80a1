#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/attention/budget.h"

namespace kvplan::attention {
namespace {

constexpr std::array kParams{
    budget_tokens("max_len", "Tokens that the first layer retains"),
    ratio_param("ratio", "Share of these that the last layer retains", "0.5"),
    ratio_param("warmup", "Share of the layers, from the first, that retain max_len", "0"),
    budget_tokens("min_size", "No layer retains less", "64")};

Result<Retained> retained(const BudgetInput& input) {
  KVPLAN_TRY_DO(check_layers(input));
  const auto longest = static_cast<double>(input.choice.integer("max_len"));
  const auto least = static_cast<double>(input.choice.integer("min_size"));
  const auto whole = std::floor(input.choice.decimal("warmup") * static_cast<double>(input.layers));
  const double fall = 1.0 - input.choice.decimal("ratio");
  std::vector<double> out;
  for (std::int64_t layer = 0; layer < input.layers; ++layer) {
    const auto depth = static_cast<double>(layer);
    const double share = 1.0 - fall * depth / static_cast<double>(input.layers - 1);
    out.push_back(depth < whole ? longest : std::max(std::floor(longest * share), least));
  }
  return by_layer(out);
}

}  // namespace

extern const BudgetKind kSeedPyramidLinear;
const BudgetKind kSeedPyramidLinear{
    .descriptor =
        {.family = kBudgetFamily,
         .name = "seed-pyramid-linear",
         .summary = "Falls linearly from max_len to a share of it, with a least size and warm-up layers",
         .source = "kvplan's founding notes on KV caches (pyramid manager)",
         .params = kParams,
         .divergences =
             "The warm-up layers of the notes use the whole cache, which is read as max_len (warm-up leaves "
             "layers alone). The notes call ratio 0.5 half of the memory; the mean over layers is 75 %. The "
             "prompt's length changes no number: a layer whose number is larger keeps the whole prompt."},
    .retained = retained};

}  // namespace kvplan::attention
