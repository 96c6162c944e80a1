#include "simulator/attention/top_mass.h"

#include <numeric>

#include "simulator/attention/kernels.h"
#include "simulator/attention/selection.h"
#include "simulator/base/check.h"

namespace kvplan::attention {

void TopMass::sums(RowView row, std::int64_t tokens, std::span<const std::int64_t> entries,
                   std::span<double> out) {
  choose(row, tokens, entries, out, {});
}

void TopMass::choose(RowView row, std::int64_t tokens, std::span<const std::int64_t> entries,
                     std::span<double> out, std::span<std::vector<std::int32_t>> chosen) {
  KVPLAN_CHECK(entries.size() == out.size(), std::ssize(entries), std::ssize(out));
  positions_.resize(static_cast<std::size_t>(tokens));
  std::iota(positions_.begin(), positions_.end(), 0);
  weights_.resize(positions_.size());
  double sum =
      row.f64 != nullptr ? gather(row.f64, positions_, weights_) : gather(row.f32, positions_, weights_);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto left = static_cast<std::int64_t>(positions_.size());
    KVPLAN_CHECK(entries[i] >= 1 && (i == 0 || entries[i] <= entries[i - 1]), static_cast<std::int64_t>(i),
                 entries[i]);
    if (entries[i] < left) {
      chosen_.clear();
      highest(weights_, static_cast<std::int32_t>(entries[i]), chosen_);
      for (std::size_t c = 0; c < chosen_.size(); ++c) {
        const auto index = static_cast<std::size_t>(chosen_[c]);
        positions_[c] = positions_[index];  // chosen_[c] >= c
        weights_[c] = weights_[index];
      }
      positions_.resize(chosen_.size());
      weights_.resize(chosen_.size());
      sum = sum_in_lanes(weights_);
    }
    out[i] = sum;
    if (!chosen.empty()) chosen[i] = positions_;
  }
}

}  // namespace kvplan::attention
