// The ledger over time in equal bins: exact mean, least and greatest of every state, of running and of
// waiting.
//
// The bins divide [0, end) of a run whose end is known: bin i covers [end*i/n, end*(i+1)/n), rounded down to
// ticks. A run is deterministic, so its end is found by a first run and the bins are filled by a second one.
// Where any width will do (a picture), one run is enough: `joined` starts with narrow bins and joins them in
// pairs when they run out.
#pragma once

#include <array>
#include <cstdint>
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
  /// was called there are at most `most`, and more than half of that unless the run is very short. REQUIRES:
  /// most >= 2, even.
  static Timeline joined(std::int64_t most);
  /// Cuts the bins at the run's last moment. REQUIRES: made by `joined`; every span was told.
  void end_at(SimTime end);

  [[nodiscard]] const std::vector<TimelineBin>& bins() const { return bins_; }

  void on_span(const LedgerSpan& span) override;

 private:
  void add(TimelineBin& bin, const LedgerSpan& span, std::int64_t step, std::int64_t steps, Wide length);
  void join_pairs();
  std::vector<TimelineBin> bins_;
  std::size_t current_{0};
  std::int64_t width_{0};  ///< ticks of a bin where they may be joined; 0 = the bins are as they are
};

}  // namespace kvplan::observe
