#include <algorithm>
#include <array>

#include "simulator/attention/budget.h"

namespace kvplan::attention::schemes::ada_kv_pyramid {
namespace {

constexpr std::array kParams{kBudgetCapacity, kBudgetWindow, kPyramidBeta};

Result<Retained> retained(const BudgetInput& input) {
  KVPLAN_TRY_DO(check_layers(input));
  KVPLAN_TRY_DO(check_capacity(input.choice));
  const std::int64_t window = input.choice.integer("window");
  std::vector<double> out;
  for (const std::int64_t beside :
       pyramid_schedule(input.choice.integer("capacity") - window, input.choice.decimal("beta"),
                        input.prompt - window, input.layers))
    out.push_back(static_cast<double>(std::min(input.prompt, beside + window)));
  return by_layer(out);
}

}  // namespace

extern const BudgetKind kMember;
const BudgetKind kMember{
    .descriptor = {.family = kBudgetFamily,
                   .name = "ada-kv-pyramid",
                   .summary = "As pyramidkv, but each layer decides for itself whether the prompt is short",
                   .source = "FFY0/AdaKV@efe4e2e adaptive_snapkv/monkeypatch/snapkv_utils.py (pyramid mode)",
                   .params = kParams,
                   .divergences =
                       "If the prompt is short, the step between layers is negative and the capacity grows "
                       "with depth. A layer with a capacity above the prompt length keeps the whole prompt."},
    .retained = retained};

}  // namespace kvplan::attention::schemes::ada_kv_pyramid
