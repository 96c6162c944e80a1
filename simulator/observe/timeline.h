// The ledger over time in equal bins: exact mean, minimum and maximum of every state, of running and of waiting
// requests.
//
// The bins divide [0, end) of a run with a known end: bin i covers [end*i/n, end*(i+1)/n), rounded down to ticks. A run
// is deterministic, so a first run can find the end and a second one fill the bins. If any bin width will do (for a
// picture), one run is enough: `joined` starts with bins for the part of the run that is known beforehand, and joins
// them in pairs when they run out.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/observe/ledger.h"

namespace kvplan::observe {

/// Rows of a bin: the ten states in cells, then running, then waiting.
inline constexpr std::size_t kTimelineRows = kStates + 2;

struct TimelineBin {
  SimTime begin, end;                             ///< half-open
  std::array<Wide, kTimelineRows> value_ticks{};  ///< sum over time; divide by end - begin for the mean
  std::array<std::int64_t, kTimelineRows> least{}, greatest{};
  bool seen{false};

  [[nodiscard]] double mean(std::size_t row) const;
};

class Timeline final : public LedgerSink {
 public:
  /// REQUIRES: bins >= 1. `end` is the run's last moment; spans are cut there.
  Timeline(SimTime end, std::int64_t bins);
  /// Bins of equal width, a power of two of ticks that is found during the run. When the run is over and `end_at` was
  /// called, there are at most `most` bins, and more than half of that unless the run is very short. `reached`: a
  /// moment that the run surely reaches, or 0; the nearer it is to the end, the fewer joins are needed; the final bins
  /// do not depend on it. REQUIRES: most >= 2, even; the run does not end before `reached`.
  static Timeline joined(std::int64_t most, SimTime reached = {});
  /// Cuts the bins at the run's last moment. REQUIRES: made by `joined`; every span was reported.
  void end_at(SimTime end);

  /// REQUIRES: every span up to the end of the run, or of the last bin, was reported.
  [[nodiscard]] const std::vector<TimelineBin>& bins() const { return bins_; }
  [[nodiscard]] std::vector<TimelineBin> take_bins() && { return std::move(bins_); }
  /// The largest batch, including steps of length zero, which are in no bin.
  [[nodiscard]] std::int64_t max_running() const { return max_running_; }

  void on_span(const LedgerSpan& span) override;
  void on_end(SimTime time, const StateCounts& cells) override;

 private:
  void add(TimelineBin& bin, const LedgerSpan& span, std::int64_t step, std::int64_t steps, SimTime from,
           SimTime until);
  void add_across(const LedgerSpan& span, SimTime until);
  void settle_row(TimelineBin& bin, std::size_t row, SimTime until);
  void settle(TimelineBin& bin, SimTime until);
  void close_bins_until(SimTime time);
  void join_pairs();

  std::vector<TimelineBin> bins_;
  std::size_t current_{0};
  // Most rows do not change from one span to the next. So a row is summed only when it changes and when the bin ends.
  // These members are its value, and the time since when it has this value.
  std::array<std::int64_t, kTimelineRows> held_{};
  std::array<SimTime, kTimelineRows> since_{};
  std::int64_t max_running_{0};
  std::int64_t width_{0};  ///< width of a bin in ticks, if bins may be joined; else 0
};

}  // namespace kvplan::observe
