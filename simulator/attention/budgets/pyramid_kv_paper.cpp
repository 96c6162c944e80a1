#include <array>

#include "simulator/attention/budget.h"

namespace kvplan::attention::schemes::pyramid_kv_paper {
namespace {

constexpr std::array kParams{budget_tokens("total", "Tokens that all layers keep together"), kPyramidBeta};

Result<Retained> retained(const BudgetInput& input) {
  KVPLAN_TRY_DO(check_layers(input));
  const auto total = static_cast<double>(input.choice.integer("total"));
  const auto layers = static_cast<double>(input.layers);
  const double last = total / (input.choice.decimal("beta") * layers);
  const double first = 2 * total / layers - last;
  std::vector<double> out;
  for (std::int64_t layer = 0; layer < input.layers; ++layer)
    out.push_back(first - (first - last) * static_cast<double>(layer) / (layers - 1));
  return by_layer(out);
}

}  // namespace

extern const BudgetKind kMember;
const BudgetKind kMember{
    .descriptor = {.family = kBudgetFamily,
                   .name = "pyramidkv-paper",
                   .summary = "Decreases linearly from the first layer to the last; the sum is exact, and a "
                              "layer's number may have a fraction",
                   .source = "arXiv 2406.02069 (the definition of the paper)",
                   .params = kParams,
                   .divergences = "The budgets do not depend on the prompt length. A layer with a budget "
                                  "above the prompt length keeps the whole prompt."},
    .retained = retained};

}  // namespace kvplan::attention::schemes::pyramid_kv_paper
