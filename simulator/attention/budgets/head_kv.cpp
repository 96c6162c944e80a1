#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/attention/budget.h"

namespace kvplan::attention::schemes::head_kv {
namespace {

constexpr std::array kParams{
    Param{.name = "scores",
          .help = "Importance of each KV head: a JSON file with one list per layer, or the lists themselves",
          .kind = ParamKind::kText,
          .fallback = {},
          .names_file = true},
    kBudgetCapacity, kBudgetWindow,
    beta_param("The part of the budget that is distributed by importance is 1 / beta", "1.005", 1)};

Result<Retained> retained(const BudgetInput& input) {
  KVPLAN_TRY_DO(check_capacity(input.choice));
  if (static_cast<std::int64_t>(input.scores.size()) != input.layers)
    return bad_input("expected a list for each of " + std::to_string(input.layers) + " layers, found " +
                     std::to_string(input.scores.size()))
        .at_field("headkv:scores");
  double sum = 0;
  std::size_t heads = 0;
  for (const auto& layer : input.scores) {
    heads += layer.size();
    for (const double score : layer) sum += score;
  }
  if (!(sum > 0)) return bad_input("expected scores above 0").at_field("headkv:scores");
  if (!std::isfinite(sum)) return bad_input("expected scores with a finite sum").at_field("headkv:scores");
  const std::int64_t window = input.choice.integer("window");
  const auto base = static_cast<double>(input.choice.integer("capacity") - window);
  const double given = std::floor(base / input.choice.decimal("beta"));
  const double pool = given * static_cast<double>(heads);
  Retained out{.tokens = {}, .by_head = true};
  for (const auto& layer : input.scores) {
    out.tokens.emplace_back();
    for (const double score : layer)
      out.tokens.back().push_back(
          std::min(static_cast<double>(input.prompt),
                   std::nearbyint(score / sum * pool + (base - given)) + static_cast<double>(window)));
  }
  return out;
}

}  // namespace

extern const BudgetKind kMember;
const BudgetKind kMember{
    .descriptor = {.family = kBudgetFamily,
                   .name = "headkv",
                   .summary = "Distributes a part of the budget over all heads of the model by importance",
                   .source = "arXiv 2410.19258; FYYFU/HeadKV@0862a09",
                   .params = kParams,
                   .divergences =
                       "With a larger beta, a smaller part of the budget is distributed by importance; the "
                       "README of the public code says the opposite. KVCache-Factory distributes the whole "
                       "capacity, not the capacity without the window, so each of its heads keeps one window "
                       "more. The public code can raise scores to a power (its temperature) before it "
                       "normalises them; pass scores that are already raised."},
    .takes_scores = true,
    .retained = retained};

}  // namespace kvplan::attention::schemes::head_kv
