#include <array>
#include <cmath>
#include <string>

#include "simulator/attention/budget.h"

namespace kvplan::attention::schemes::warm_up {
namespace {

constexpr std::array kParams{
    ratio_param("ratio", "Share of layers, counted from the first, that keep everything", "0.1"),
    Param{.name = "budget",
          .help = "Budget scheme for all layers, in quotes; the warm-up layers ignore their part of it",
          .kind = ParamKind::kText,
          .fallback = {}}};

Error wrong(const std::string& what) {
  return bad_input(what).at_field("warm-up:budget");
}

Result<Retained> retained(const BudgetInput& input) {
  auto parsed = parse_component(input.choice.text("budget"), kBudgetFamily, budget_descriptors());
  if (!parsed.ok()) return wrong(parsed.error().to_string());
  const BudgetKind& inner = budget_of(parsed.value());
  if (inner.takes_scores || inner.descriptor.name == "warm-up")
    return wrong("expected a scheme without scores and without warm-up layers of its own, found \"" +
                 std::string(inner.descriptor.name) + "\"");
  KVPLAN_TRY(Retained out,
             inner.retained({.choice = parsed.value(), .layers = input.layers, .prompt = input.prompt}));
  const auto first = std::floor(input.choice.decimal("ratio") * static_cast<double>(input.layers));
  out.whole.resize(out.tokens.size());
  for (std::size_t layer = 0; layer < out.tokens.size() && static_cast<double>(layer) < first; ++layer) {
    out.tokens[layer].assign(out.tokens[layer].size(), static_cast<double>(input.prompt));
    out.whole[layer] = true;
  }
  return out;
}

}  // namespace

extern const BudgetKind kMember;
const BudgetKind kMember{
    .descriptor = {.family = kBudgetFamily,
                   .name = "warm-up",
                   .summary = "Another budget scheme, except that the first layers keep everything",
                   .source = "kvplan's design notes on KV caches (warm-up layers)",
                   .params = kParams,
                   .divergences =
                       "seed-pyramid-linear has its own warm-up layers, which keep max_len tokens."},
    .retained = retained};

}  // namespace kvplan::attention::schemes::warm_up
