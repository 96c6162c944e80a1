// Policies that score tokens by their recorded keys or values alone. They select a number of tokens when the prompt
// ends and, if asked, repeatedly while decoding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/attention/kept_counts.h"
#include "simulator/attention/policy.h"

namespace kvplan::attention {

class TensorScore : public SetPolicy {
 public:
  /// From a choice with kBudgetParam and kEveryParam.
  explicit TensorScore(const LayerInput& input);
  void tensors(const LayerRows& rows) final { rows_ = &rows; }
  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) final;

 protected:
  /// Scores of one KV head: one for each position; the lowest are dropped. No NaN. REQUIRES: out.size() ==
  /// positions.size().
  virtual void score(KeyView keys, ValueView values, std::span<const std::int32_t> positions,
                     std::span<double> out) = 0;

 private:
  LayerPlace place_;
  std::int64_t budget_;
  std::int64_t every_;
  const LayerRows* rows_{nullptr};
  std::vector<double> scores_;
};

inline constexpr Param kTensorBudgetParam = tokens_param("budget", "Tokens kept", 1);
inline constexpr Param kEveryParam{
    .name = "every",
    .help = "Generated tokens between two selections; 0 selects only once, at the end of the prompt",
    .unit = Unit::kTokens,
    .fallback = "0",
    .low = 0,
    .high = kMaxTokens};

/// Rows are not used, but tensors come with the rows.
inline PolicyTraits tensor_traits(const Choice& choice, bool values) {
  const bool again = choice.integer("every") > 0;
  PolicyTraits out{.prompt_rows = 1, .decode_rows = again, .keys = true, .values = values};
  if (again) {
    out.count_at = count_between_selections;
  } else {
    out.count = core::KeptCount{.budget = choice.integer("budget"), .once = true};
  }
  return out;
}

}  // namespace kvplan::attention
