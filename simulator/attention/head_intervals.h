// Policies that keep everything in some KV heads, and sinks with a window in the others. Tables of heads say which
// heads (PolicyTraits::head_tables). So the kept tokens follow from lengths, as for positional policies
// (interval_policy.h), but differ from head to head.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/attention/catalogue.h"
#include "simulator/attention/interval_policy.h"

namespace kvplan::attention {

/// The interval of a head that keeps everything: longer than any sequence, and far from overflow.
inline constexpr KeptInterval kWhole{.sink = 0, .recent = INT64_MAX / 4};

class HeadIntervals final : public SetPolicy {
 public:
  /// `whole`: [KV head] true: the head keeps everything. `others`: the interval of the other heads.
  HeadIntervals(const std::vector<bool>& whole, KeptInterval others) {
    for (const bool each : whole) keep_.push_back(each ? kWhole : others);
  }
  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    IntervalPolicy(keep_[static_cast<std::size_t>(set)]).evict_set(set, residents, drop);
  }
  /// The intervals, by KV head.
  [[nodiscard]] const std::vector<KeptInterval>& keep() const { return keep_; }

 private:
  std::vector<KeptInterval> keep_;
};

/// [layer][KV head] the kept interval.
using IntervalTable = std::vector<std::vector<KeptInterval>>;

/// True: lengths alone decide which tokens are kept, in all heads alike or in each head by tables.
inline bool lengths_decide(const PolicyTraits& traits) {
  return traits.interval.has_value() || traits.head_tables;
}

/// The interval that each KV head of a model keeps. Errors (field: NAME:parameter): tables that were not read or have
/// another shape. REQUIRES: PolicyTraits::head_tables.
Result<IntervalTable> intervals_by_head(const PolicyChoice& policy, std::int64_t layers,
                                        std::int64_t kv_heads);

/// The gate of a KV head, clamped to 0 .. 1. REQUIRES: the table has it.
double gate_of(const HeadTable& gates, std::int32_t layer, std::int32_t head);
/// Heads with at least this gate keep everything. It is a quantile of all gates, interpolated linearly; with a share of
/// 1 it lies above all of them.
double gate_threshold(const HeadTable& gates, double sparsity);

constexpr Param head_table_param(std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .kind = ParamKind::kText, .fallback = {}, .names_file = true};
}

}  // namespace kvplan::attention
