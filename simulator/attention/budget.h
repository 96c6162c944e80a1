// Budgets: how many tokens of a prompt each layer (or each KV head) keeps. The schemes know only lengths and scores of
// heads; scores are given, or measured from the prompt's attention. `kvplan budget` prints the result.
//
// To add one: a file in budgets/ that defines a `BudgetKind`, and a line in budget.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/base/result.h"

namespace kvplan::attention {

class Recording;

inline constexpr std::string_view kBudgetFamily = "budget";
/// The value of `scores` that means that they are measured (BudgetKind::measure).
inline constexpr std::string_view kMeasured = "measured";

struct BudgetInput {
  const Choice& choice;
  std::int64_t layers;  ///< at least 1
  std::int64_t prompt;  ///< tokens, at least 1
  /// [layer][KV head], not negative: scores, for a scheme that distributes by heads; else empty.
  std::span<const std::vector<double>> scores{};
};

/// Number of kept tokens, windows included. Whole numbers, except for schemes defined over real numbers.
struct Retained {
  std::vector<std::vector<double>> tokens;  ///< [layer]: one number, or one for each KV head
  bool by_head{false};
  /// [layer] true: the layer keeps its prompt and all that follows; empty: no layer does
  std::vector<bool> whole{};

  [[nodiscard]] bool leaves_alone(std::size_t layer) const { return !whole.empty() && whole[layer]; }
};

/// One member of the family.
struct BudgetKind {
  Descriptor descriptor;
  bool takes_scores{false};  ///< true: it has a parameter `scores`, a file or text with BudgetInput::scores
  Result<Retained> (*retained)(const BudgetInput&);
  /// Measures the scheme's scores on the first `prompt` tokens of a recorded sequence. Null if its `scores` cannot be
  /// kMeasured. Errors: layers or heads that were not recorded, or fewer tokens.
  Result<std::vector<std::vector<double>>> (*measure)(const Recording&, std::int32_t sequence,
                                                      std::int64_t prompt) = nullptr;
};

/// All members, in the order in which lists show them.
std::span<const BudgetKind* const> budgets();
Catalogue budget_descriptors();
const BudgetKind& budget_of(const Choice& choice);
/// True: its scores are to be measured.
bool measures_scores(const Choice& choice);

/// The pyramid of KVCache-Factory and Ada-KV: capacities without the window, linear over the layers. The step between
/// layers is rounded down, so the sum over layers may exceed layers x capacity.
std::vector<std::int64_t> pyramid_schedule(std::int64_t base, double beta, std::int64_t most,
                                           std::int64_t layers);

/// Tokens of a prompt that each layer keeps in the public code of PyramidKV, windows included. With one layer it is
/// the capacity. REQUIRES: capacity >= window; every other argument at least 1.
std::vector<std::int64_t> pyramid_retained(std::int64_t capacity, std::int64_t window, double beta,
                                           std::int64_t prompt, std::int64_t layers);

/// Makes budgets with one number for each layer.
Retained by_layer(std::span<const double> tokens);
/// Errors: a model with one layer, because these schemes are linear from the first to the last layer; a capacity below
/// the window, for choices with both.
Status check_layers(const BudgetInput& input);
Status check_capacity(const Choice& choice);

// Parameters that several schemes have:
constexpr Param budget_tokens(std::string_view name, std::string_view help, std::string_view fallback = {}) {
  return {.name = name, .help = help, .unit = Unit::kTokens, .fallback = fallback, .low = 0, .high = 1 << 30};
}
inline constexpr Param kBudgetCapacity =
    budget_tokens("capacity", "Tokens that a layer or head keeps on average, including the window");
inline constexpr Param kBudgetWindow =
    budget_tokens("window", "Last tokens of the prompt, always kept", "32");
constexpr Param beta_param(std::string_view help, std::string_view fallback, double low) {
  return {.name = "beta",
          .help = help,
          .kind = ParamKind::kDecimal,
          .fallback = fallback,
          .low = low,
          .high = 1e9};
}
inline constexpr Param kPyramidBeta =
    beta_param("The last layer has the base budget divided by this number", "20", 1);
constexpr Param ratio_param(std::string_view name, std::string_view help, std::string_view fallback) {
  return {.name = name,
          .help = help,
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = fallback,
          .low = 0,
          .high = 1};
}

}  // namespace kvplan::attention
