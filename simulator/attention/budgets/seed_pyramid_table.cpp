#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "simulator/attention/budget.h"

namespace kvplan::attention::schemes::seed_pyramid_table {
namespace {

constexpr std::array kParams{budget_tokens("max_len", "Tokens that the first layer keeps"),
                             budget_tokens("min_size", "Minimum number of tokens per layer", "16")};

/// Layer, and hundredths of max_len. Shares are linear in between; the last one holds for all later layers.
constexpr std::array<std::pair<std::int64_t, std::int64_t>, 7> kAnchors{
    {{0, 100}, {5, 90}, {10, 80}, {20, 60}, {30, 40}, {40, 25}, {50, 15}}};

/// floor(tokens x share of this layer), in whole numbers.
std::int64_t share_of(std::int64_t layer, std::int64_t tokens) {
  for (std::size_t i = 1; i < kAnchors.size(); ++i) {
    const auto [from, high] = kAnchors[i - 1];
    const auto [to, low] = kAnchors[i];
    if (layer > to) continue;
    const std::int64_t span = to - from;
    return tokens * (high * span - (high - low) * (layer - from)) / (100 * span);
  }
  return tokens * kAnchors.back().second / 100;
}

Result<Retained> retained(const BudgetInput& input) {
  std::vector<double> out;
  for (std::int64_t layer = 0; layer < input.layers; ++layer)
    out.push_back(static_cast<double>(
        std::max(share_of(layer, input.choice.integer("max_len")), input.choice.integer("min_size"))));
  return by_layer(out);
}

}  // namespace

extern const BudgetKind kMember;
const BudgetKind kMember{
    .descriptor =
        {.family = kBudgetFamily,
         .name = "seed-pyramid-table",
         .summary = "Decreases by a fixed table of layers: 100 % at layer 0, 15 % from layer 50 on",
         .source = "kvplan's design notes on KV caches (pyramid, figure of section 3.2)",
         .params = kParams,
         .divergences =
             "No formula in the design notes produces this table. The table is indexed by layer "
             "number, so a model with 32 layers ends at 37 %. The budgets do not depend on the "
             "prompt length. A layer with a budget above the prompt length keeps the whole prompt."},
    .retained = retained};

}  // namespace kvplan::attention::schemes::seed_pyramid_table
