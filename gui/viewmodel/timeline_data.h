// The ledger over time as the window shows it: bytes of the ten states, and running and waiting requests, summed over
// replicas.
//
// Made once per result, outside the window's thread, then immutable. A picture asks for columns. Each column is the
// exact reduction of whole bins, with integer sums over time; so in every column the states sum to the capacity, and
// the least and greatest of a bin are in some column whatever the zoom.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/observe/timeline.h"
#include "simulator/run/run.h"
#include "simulator/study/selection.h"

namespace kvplan::gui {

using observe::kTimelineRows;
inline constexpr std::size_t kRunningRow = observe::kStates;
inline constexpr std::size_t kWaitingRow = observe::kStates + 1;

/// A half-open interval of time, in ticks since the trace's first arrival. States are in bytes. Over several replicas
/// the mean is exact; least and greatest are sums of the replicas' own values, so they are bounds.
struct TimelineColumn {
  std::int64_t begin{0}, end{0};
  std::array<Wide, kTimelineRows> value_ticks{};
  std::array<std::int64_t, kTimelineRows> least{}, greatest{};

  [[nodiscard]] double mean(std::size_t row) const {
    return static_cast<double>(value_ticks[row]) / static_cast<double>(end - begin);
  }
};

using runs::TimeRange;

class TimelineData {
 public:
  /// Made from a result with a timeline; empty if no time passed.
  static std::shared_ptr<const TimelineData> from(const runs::RunResult& result);
  /// Made from consecutive columns from 0 on, none of them empty.
  static std::shared_ptr<const TimelineData> from(std::vector<TimelineColumn> bins,
                                                  std::int64_t capacity_bytes);

  [[nodiscard]] bool empty() const { return bins_.empty(); }
  [[nodiscard]] const std::vector<TimelineColumn>& bins() const { return bins_; }
  [[nodiscard]] TimeRange whole() const { return {0, end_}; }
  [[nodiscard]] std::int64_t capacity_bytes() const { return capacity_bytes_; }
  /// The greatest value of a row at any moment.
  [[nodiscard]] std::int64_t greatest(std::size_t row) const { return greatest_[row]; }

  /// The bin that contains a moment; moments outside are clamped to the nearest bin. REQUIRES: not empty.
  [[nodiscard]] std::size_t bin_at(std::int64_t tick) const;
  /// `count` columns of equal width over `range`. Column i has the bins that begin in it (the first column also the
  /// bin that contains its begin), or the one bin that covers it. REQUIRES: not empty, range within [0, end), count
  /// >= 1.
  [[nodiscard]] std::vector<TimelineColumn> columns(TimeRange range, int count) const;

 private:
  std::vector<TimelineColumn> bins_;
  std::int64_t end_{0};
  std::int64_t capacity_bytes_{0};
  std::array<std::int64_t, kTimelineRows> greatest_{};
};

}  // namespace kvplan::gui
