// The weights that bounds sum up: the attention of tokens, or its effect on the output.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "simulator/attention/norms.h"
#include "simulator/attention/policy.h"

namespace kvplan::attention {

inline constexpr std::array<std::string_view, 2> kOracleWeights{"mass", "output"};
inline constexpr Param kOracleWeightsParam{.name = "weights",
                                           .help =
                                               "What makes a token valuable: its attention weight (mass), or "
                                               "the weight times the norm of its value (output)",
                                           .kind = ParamKind::kText,
                                           .fallback = "mass",
                                           .choices = kOracleWeights,
                                           .default_unsaid = true};

/// From a choice with kOracleWeightsParam.
inline bool weighs_output(const Choice& choice) {
  return choice.text(kOracleWeightsParam.name) == "output";
}

/// Norms of the values of a layer's tokens by KV head; all 1 if mass is wanted.
class ValueLengths {
 public:
  explicit ValueLengths(const LayerInput& input)
      : wanted_(weighs_output(input.choice)),
        group_(input.place.group),
        length_(static_cast<std::size_t>(input.place.kv_heads())) {}

  [[nodiscard]] bool wanted() const { return wanted_; }
  /// Sets the source of norms; it must stay valid until the next call of this function or the last call of `reach`.
  void tensors(const LayerRows& rows) { rows_ = &rows; }
  /// Reads the norms of the first `tokens` of a set. REQUIRES: `tensors` was called, if norms are wanted.
  void reach(std::int32_t set, std::size_t tokens) {
    if (!wanted_) return;
    auto& known = length_[static_cast<std::size_t>(set)];
    while (known.size() < tokens)
      known.push_back(value_norm(*rows_, set * group_, static_cast<std::int32_t>(known.size())));
  }
  /// The norm of a token; 0 if `reach` has not covered it, because it is in no row.
  [[nodiscard]] double of(std::int32_t set, std::int32_t token) const {
    if (!wanted_) return 1.0;
    const auto& known = length_[static_cast<std::size_t>(set)];
    return static_cast<std::size_t>(token) < known.size() ? known[static_cast<std::size_t>(token)] : 0.0;
  }

 private:
  bool wanted_;
  std::int32_t group_;
  const LayerRows* rows_{nullptr};
  std::vector<std::vector<double>> length_;  ///< [KV head][token]
};

}  // namespace kvplan::attention
