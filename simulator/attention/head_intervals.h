// Policies that keep everything in some stored heads and sinks with a window in the others.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/attention/interval_policy.h"

namespace kvplan::attention {

class HeadIntervals final : public SetPolicy {
 public:
  /// `whole`: [stored head] keeps everything.
  HeadIntervals(std::vector<bool> whole, KeptInterval others) : whole_(std::move(whole)), others_(others) {}
  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    if (!whole_[static_cast<std::size_t>(set)]) others_.evict_set(set, residents, drop);
  }

 private:
  std::vector<bool> whole_;
  IntervalPolicy others_;
};

/// The gate of a stored head, cut to 0 .. 1. REQUIRES: the table has it.
double gate_of(const HeadTable& gates, std::int32_t layer, std::int32_t head);
/// The gate from which on a head keeps everything: a quantile of all gates, linear between two of them; above all of
/// them for a share of 1.
double gate_threshold(const HeadTable& gates, double sparsity);

constexpr Param head_table_param(std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .kind = ParamKind::kText, .fallback = {}, .names_file = true};
}

}  // namespace kvplan::attention
