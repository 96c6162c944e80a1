#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/attention/budget.h"

namespace kvplan::attention::schemes::seed_pyramid_linear {
namespace {

constexpr std::array kParams{
    budget_tokens("max_len", "Tokens that the first layer keeps"),
    ratio_param("ratio", "The last layer keeps this share of max_len", "0.5"),
    ratio_param("warmup", "Share of layers, counted from the first, that keep max_len tokens", "0"),
    budget_tokens("min_size", "Minimum number of tokens per layer", "64")};

Result<Retained> retained(const BudgetInput& input) {
  const auto longest = static_cast<double>(input.choice.integer("max_len"));
  const auto least = static_cast<double>(input.choice.integer("min_size"));
  const auto whole = std::floor(input.choice.decimal("warmup") * static_cast<double>(input.layers));
  const double fall = 1.0 - input.choice.decimal("ratio");
  // The design notes divide by max(layers - 1, 1): a single layer is at depth 0.
  const auto last = static_cast<double>(std::max<std::int64_t>(input.layers - 1, 1));
  std::vector<double> out;
  for (std::int64_t layer = 0; layer < input.layers; ++layer) {
    const auto depth = static_cast<double>(layer);
    const double share = 1.0 - fall * depth / last;
    out.push_back(depth < whole ? longest : std::max(std::floor(longest * share), least));
  }
  return by_layer(out);
}

}  // namespace

extern const BudgetKind kMember;
const BudgetKind kMember{
    .descriptor =
        {.family = kBudgetFamily,
         .name = "seed-pyramid-linear",
         .summary =
             "Decreases linearly from max_len to a share of it, after warm-up layers and not below a minimum",
         .source = "kvplan's design notes on KV caches (pyramid manager)",
         .params = kParams,
         .divergences =
             "In the design notes, warm-up layers use the whole cache; kvplan gives them max_len "
             "tokens (warm-up leaves layers untouched). The design notes say that ratio 0.5 "
             "halves the memory, but the mean over layers is 75 %. The budgets do not depend on "
             "the prompt length. A layer with a budget above the prompt length keeps the whole prompt."},
    .retained = retained};

}  // namespace kvplan::attention::schemes::seed_pyramid_linear
