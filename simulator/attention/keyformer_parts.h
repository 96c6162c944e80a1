// Shared by both forms of Keyformer: parameters, budgets from the prompt's length, and scores that accumulate row by
// row at a temperature that rises with every generated token. Without the Gumbel noise of the original.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/temper.h"

namespace kvplan::attention {

constexpr Param percent_param(std::string_view name, std::string_view help, std::string_view fallback) {
  return {
      .name = name, .help = help, .kind = ParamKind::kDecimal, .fallback = fallback, .low = 0, .high = 100};
}
inline constexpr std::array kKeyformerParams{
    percent_param("kv_percent", "Tokens kept, as a percentage of the prompt", "60"),
    percent_param("recent_percent", "Percentage of the kept tokens that are the newest ones", "30"),
    Param{.name = "tau_init",
          .help = "Softmax temperature for the prompt's rows",
          .kind = ParamKind::kDecimal,
          .fallback = "1",
          .low = 1e-3,
          .high = 1e3},
    Param{.name = "tau_delta",
          .help = "Increase of the temperature per generated token; the paper goes from 1 to 2 over all "
                  "generated tokens",
          .kind = ParamKind::kDecimal,
          .fallback = "0.01",
          .low = 0,
          .high = 1e3},
    kGroupParam,
    kAggParam,
    kPlacementParam};

/// Number of kept tokens for a prompt of this length, for the whole request.
std::int64_t keyformer_kept(const Choice& choice, std::int64_t prompt);

class KeyformerScores {
 public:
  KeyformerScores(const Choice& choice, const LayerPlace& place);
  /// Number of tokens kept for their score.
  [[nodiscard]] std::int64_t keys() const { return keys_; }
  [[nodiscard]] std::int64_t recent() const { return recent_; }
  /// Adds the rows, at the temperature of the newest resident, to column 0.
  void update(Residents& residents, std::span<const HeadRow> heads);

 private:
  std::int64_t prompt_;
  std::int64_t keys_;
  std::int64_t recent_;
  double tau_init_;
  double tau_delta_;
  Temper temper_;
  Reducer reduce_;
};

}  // namespace kvplan::attention
