#include <array>

#include "simulator/attention/budget.h"

namespace kvplan::attention::schemes::uniform {
namespace {

constexpr std::array kParams{budget_tokens("capacity", "Tokens that each layer keeps")};

Result<Retained> retained(const BudgetInput& input) {
  const std::vector<double> each(static_cast<std::size_t>(input.layers),
                                 static_cast<double>(input.choice.integer("capacity")));
  return by_layer(each);
}

}  // namespace

extern const BudgetKind kMember;
const BudgetKind kMember{
    .descriptor = {.family = kBudgetFamily,
                   .name = "uniform",
                   .summary = "The same budget in every layer",
                   .source = "kvplan",
                   .params = kParams,
                   .divergences = "The budget does not depend on the prompt length. If the prompt is "
                                  "shorter, generated tokens may use the rest."},
    .retained = retained};

}  // namespace kvplan::attention::schemes::uniform
