#include <array>
#include <cmath>
#include <string>

#include "simulator/attention/budget.h"

namespace kvplan::attention {
namespace {

constexpr std::array kParams{
    ratio_param("ratio", "Share of the layers, from the first, that keep everything", "0.1"),
    Param{.name = "budget",
          .help = "Scheme of all layers, of which the later ones take their part; in quotes",
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
    return wrong("expected a scheme that needs no scores and has no warm-up of its own, found \"" +
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

extern const BudgetKind kWarmUp;
const BudgetKind kWarmUp{
    .descriptor = {.family = kBudgetFamily,
                   .name = "warm-up",
                   .summary = "Another scheme, but for the first layers, which keep everything",
                   .source = "kvplan's founding notes on KV caches (warm-up layers)",
                   .params = kParams,
                   .divergences =
                       "seed-pyramid-linear has warm-up layers of its own, which retain max_len tokens."},
    .retained = retained};

}  // namespace kvplan::attention
