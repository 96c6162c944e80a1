#include <algorithm>
#include <array>

#include "simulator/attention/budget.h"

namespace kvplan::attention {
namespace {

constexpr std::array kParams{kBudgetCapacity, kBudgetWindow, kPyramidBeta};

Result<Retained> retained(const BudgetInput& input) {
  KVPLAN_TRY_DO(check_layers(input));
  KVPLAN_TRY_DO(check_capacity(input.choice));
  const std::int64_t capacity = input.choice.integer("capacity");
  const std::int64_t window = input.choice.integer("window");
  const std::int64_t base = capacity - window;
  std::vector<double> out(static_cast<std::size_t>(input.layers),
                          static_cast<double>(std::min(input.prompt, capacity)));
  if (input.prompt < capacity || input.prompt < 2 * base) return by_layer(out);
  const auto schedule =
      pyramid_schedule(base, input.choice.decimal("beta"), input.prompt - window, input.layers);
  for (std::size_t layer = 0; layer < out.size(); ++layer)
    out[layer] = static_cast<double>(schedule[layer] + window);
  return by_layer(out);
}

}  // namespace

extern const BudgetKind kPyramidKv;
const BudgetKind kPyramidKv{
    .descriptor = {.family = kBudgetFamily,
                   .name = "pyramidkv",
                   .summary = "Falls from the first layer to the last; short prompts have the same in each",
                   .source = "KVCache-Factory@c97f9d7 pyramidkv/pyramidkv_utils.py",
                   .params = kParams,
                   .divergences =
                       "The step between layers is rounded down, so that all layers together keep up to "
                       "12 % more than layers x capacity; kept, since the original does so."},
    .retained = retained};

}  // namespace kvplan::attention
