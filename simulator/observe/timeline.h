// The ledger over time in equal bins: exact mean, least and greatest of every state, of running and of
// waiting.
//
// The bins divide [0, end) of a run whose end is known: bin i covers [end*i/n, end*(i+1)/n), rounded down to
// ticks. A run is deterministic, so its end is found by a first run and the bins are filled by a second one.
// Where any width will do (a picture), one run is enough: `joined` starts with bins for the part of the run
// that is known beforehand and joins them in pairs when they run out.
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
  /// REQUIRES: bins >= 1. `end` is the run's last moment; spans past it are cut.
  Timeline(SimTime end, std::int64_t bins);
  /// Bins of one width, a power of two of ticks that is found on the way: when the run is over and `end_at`
  /// was called there are at most `most`, and more than half of that unless the run is very short. `reached`:
  /// a moment that the run surely reaches, or 0; the nearer to the end, the less has to be joined, and the
  /// bins in the end are the same. REQUIRES: most >= 2, even; the run does not end before `reached`.
  static Timeline joined(std::int64_t most, SimTime reached = {});
  /// Cuts the bins at the run's last moment. REQUIRES: made by `joined`; every span was told.
  void end_at(SimTime end);

  /// REQUIRES: every span was told up to the end of the run or of the last bin.
  [[nodiscard]] const std::vector<TimelineBin>& bins() const { return bins_; }
  [[nodiscard]] std::vector<TimelineBin> take_bins() && { return std::move(bins_); }
  /// The largest batch; that of a step without length is in no bin.
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
  // Most rows stay as they are from one span to the next. What a row of the current bin holds since when is
  // summed when it changes, and when the bin ends.
  std::array<std::int64_t, kTimelineRows> held_{};
  std::array<SimTime, kTimelineRows> since_{};
  std::int64_t max_running_{0};
  std::int64_t width_{0};  ///< ticks of a bin where they may be joined; 0 = the bins are as they are
};

}  // namespace kvplan::observe
