#include <array>

#include "simulator/attention/budget.h"

namespace kvplan::attention::schemes::pyramid_kv {
namespace {

constexpr std::array kParams{kBudgetCapacity, kBudgetWindow, kPyramidBeta};

Result<Retained> retained(const BudgetInput& input) {
  KVPLAN_TRY_DO(check_layers(input));
  KVPLAN_TRY_DO(check_capacity(input.choice));
  std::vector<double> out;
  for (const std::int64_t tokens :
       pyramid_retained(input.choice.integer("capacity"), input.choice.integer("window"),
                        input.choice.decimal("beta"), input.prompt, input.layers))
    out.push_back(static_cast<double>(tokens));
  return by_layer(out);
}

}  // namespace

extern const BudgetKind kMember;
const BudgetKind kMember{
    .descriptor =
        {.family = kBudgetFamily,
         .name = "pyramidkv",
         .summary =
             "Decreases from the first layer to the last; for a short prompt all layers have the same budget",
         .source = "KVCache-Factory@c97f9d7 pyramidkv/pyramidkv_utils.py",
         .params = kParams,
         .divergences = "The step between layers is rounded down, as in the public code. All layers together "
                        "therefore keep up to 12 % more than layers x capacity."},
    .retained = retained};

}  // namespace kvplan::attention::schemes::pyramid_kv
