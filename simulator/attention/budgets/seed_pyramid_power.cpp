#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/attention/budget.h"

namespace kvplan::attention::schemes::seed_pyramid_power {
namespace {

constexpr std::array kParams{
    budget_tokens("max_len", "Tokens that the first layer keeps"),
    ratio_param("alpha", "How far the base of the power decreases by the last layer", "0.5"),
    Param{.name = "beta",
          .help = "Exponent of the power law",
          .kind = ParamKind::kDecimal,
          .fallback = "0.5",
          .low = 0,
          .high = 100},
    budget_tokens("min_size", "Minimum number of tokens per layer", "16")};

Result<Retained> retained(const BudgetInput& input) {
  const auto longest = static_cast<double>(input.choice.integer("max_len"));
  const auto least = static_cast<double>(input.choice.integer("min_size"));
  std::vector<double> out;
  for (std::int64_t layer = 0; layer < input.layers; ++layer) {
    const double share =
        1.0 - input.choice.decimal("alpha") * static_cast<double>(layer) / static_cast<double>(input.layers);
    out.push_back(std::max(std::floor(longest * std::pow(share, input.choice.decimal("beta"))), least));
  }
  return by_layer(out);
}

}  // namespace

extern const BudgetKind kMember;
const BudgetKind kMember{
    .descriptor = {.family = kBudgetFamily,
                   .name = "seed-pyramid-power",
                   .summary = "Decreases as a power of depth: max_len x (1 - alpha x layer / layers)^beta",
                   .source = "kvplan's design notes on KV caches (pyramid, power law)",
                   .params = kParams,
                   .divergences = "The design notes say that alpha 0.5 halves the memory, but the mean over "
                                  "layers is 86 %. The budgets do not depend on the prompt length. A layer "
                                  "with a budget above the prompt length keeps the whole prompt."},
    .retained = retained};

}  // namespace kvplan::attention::schemes::seed_pyramid_power
