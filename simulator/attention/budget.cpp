#include "simulator/attention/budget.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "simulator/base/family.h"

// One line per scheme, its namespace; the order is that of lists.
#define KVPLAN_BUDGETS(BUDGET)         \
  BUDGET(schemes::uniform)             \
  BUDGET(schemes::pyramid_kv)          \
  BUDGET(schemes::ada_kv_pyramid)      \
  BUDGET(schemes::pyramid_kv_paper)    \
  BUDGET(schemes::pyramid_kv_kvpress)  \
  BUDGET(schemes::seed_pyramid_power)  \
  BUDGET(schemes::seed_pyramid_linear) \
  BUDGET(schemes::seed_pyramid_table)  \
  BUDGET(schemes::warm_up)             \
  BUDGET(schemes::squeeze)             \
  BUDGET(schemes::d2o)                 \
  BUDGET(schemes::head_kv)

namespace kvplan::attention {

KVPLAN_FAMILY(BudgetKind, KVPLAN_BUDGETS)

namespace {

/// Rounded towards minus infinity.
std::int64_t floor_divided(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

}  // namespace

std::span<const BudgetKind* const> budgets() {
  return family().members();
}
Catalogue budget_descriptors() {
  return family().descriptors();
}
const BudgetKind& budget_of(const Choice& choice) {
  return family().member(choice);
}

bool measures_scores(const Choice& choice) {
  return budget_of(choice).measure != nullptr && choice.text("scores") == kMeasured;
}

std::vector<std::int64_t> pyramid_schedule(std::int64_t base, double beta, std::int64_t most,
                                           std::int64_t layers) {
  auto least = static_cast<std::int64_t>(std::floor(static_cast<double>(base) / beta));
  std::int64_t first = 2 * base - least;
  if (first >= most) {
    first = most;
    least = 2 * base - first;
  }
  const std::int64_t step = floor_divided(first - least, layers - 1);
  std::vector<std::int64_t> out;
  for (std::int64_t layer = 0; layer < layers; ++layer) out.push_back(first - layer * step);
  return out;
}

std::vector<std::int64_t> pyramid_retained(std::int64_t capacity, std::int64_t window, double beta,
                                           std::int64_t prompt, std::int64_t layers) {
  const std::int64_t base = capacity - window;
  if (layers == 1 || prompt < capacity || prompt < 2 * base)
    return std::vector<std::int64_t>(static_cast<std::size_t>(layers), std::min(prompt, capacity));
  std::vector<std::int64_t> out = pyramid_schedule(base, beta, prompt - window, layers);
  for (std::int64_t& tokens : out) tokens += window;
  return out;
}

Retained by_layer(std::span<const double> tokens) {
  Retained out;
  for (const double each : tokens) out.tokens.push_back({each});
  return out;
}

Status check_layers(const BudgetInput& input) {
  if (input.layers > 1) return Done{};
  return bad_input("expected at least 2 layers for a budget that falls from layer to layer, found 1")
      .at_field(input.choice.name());
}

Status check_capacity(const Choice& choice) {
  if (choice.integer("capacity") >= choice.integer("window")) return Done{};
  return bad_input("expected at least the window of " + std::to_string(choice.integer("window")) +
                   ", found " + std::to_string(choice.integer("capacity")))
      .at_field(std::string(choice.name()) + ":capacity");
}

}  // namespace kvplan::attention
