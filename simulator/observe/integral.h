// Exact byte-time integrals: the sum over time of each state's cells, as 128-bit integers of cells x ticks.
//
// A quantity that starts at 0 and jumps by d_j at time t_j has the integral (last value) x (end) - sum of d_j x t_j. So
// a state costs work only when it changes, no matter how many spans are reported in between.
#pragma once

#include <array>

#include "simulator/observe/ledger.h"

namespace kvplan::observe {

/// Sums that give integrals over the first n steps of a series. A quantity that begins at `value` and changes by
/// `growth` at each step's end has the integral
///   sum over k in [0, n) of (value + k * growth) * duration(k) = value * time + growth * moment. Exact.
struct SeriesSums {
  Wide time{0};    ///< sum of duration(k)
  Wide moment{0};  ///< sum of k * duration(k)

  constexpr SeriesSums(const core::StepSeries& series, std::int64_t n) : time(series.span(n)) {
    if (n == 1) return;
    if (n <= kShort) {  // without 128-bit division
      const std::int64_t sum = n * (n - 1) / 2;
      const std::int64_t squares = sum * (2 * n - 1) / 3;
      moment = Wide{sum} * series.first.count + Wide{squares} * series.growth.count;
      return;
    }
    const Wide one = Wide{n} * (n - 1) / 2;        // sum of k
    const Wide two = one * (2 * Wide{n} - 1) / 3;  // sum of k^2
    moment = one * series.first.count + two * series.growth.count;
  }
  [[nodiscard]] constexpr Wide integral(std::int64_t value, std::int64_t growth) const {
    return time * value + moment * growth;
  }

  /// Up to this many steps the sum of k^2, times 3, is below 2^63.
  static constexpr std::int64_t kShort = std::int64_t{1} << 20;
};

/// A quantity that starts at 0, and the sum of (jump x time) over its jumps.
struct Jumps {
  std::int64_t value{0};
  Wide moments{0};

  /// A jump at `now`. Jumps may be added in any order before `until` is called.
  void add(std::int64_t change, SimTime now) {
    moments += Wide{change} * now.since_start.count;
    value += change;
  }
  /// The value is `next` from `now` on. REQUIRES: no jump after `now` was added.
  void jump_to(std::int64_t next, SimTime now) {
    if (next != value) add(next - value, now);
  }
  /// The integral from 0 to `end`. REQUIRES: no jump after `end`.
  [[nodiscard]] Wide until(SimTime end) const { return Wide{value} * end.since_start.count - moments; }
};

/// Integrals over the whole run: over all spans that were reported.
class Integrals final : public LedgerSink {
 public:
  void on_span(const LedgerSpan& span) override;
  void on_decode_run(const LedgerDecodeRun& decode_run) override;

  [[nodiscard]] std::array<Wide, kStates> cell_ticks() const;
  [[nodiscard]] Wide running_ticks() const { return running_.until(end_); }
  [[nodiscard]] Wide ticks() const { return end_.since_start.count; }
  [[nodiscard]] std::int64_t max_running() const { return max_running_; }

 private:
  std::array<Jumps, kStates> states_{};
  Jumps running_{};
  SimTime end_{};  // end of the last span
  std::int64_t max_running_{0};
};

/// The earliest moment of least available memory (cached + stranded + free), among the settled states after
/// passes.
class Peak final : public LedgerSink {
 public:
  void on_span(const LedgerSpan& /*span*/) override {}
  void on_decode_run(const LedgerDecodeRun& decode_run) override;
  void on_pass(SimTime time, const StateCounts& cells, std::int64_t running) override;

  [[nodiscard]] bool seen() const { return least_available_ >= 0; }
  [[nodiscard]] SimTime time() const { return time_; }
  [[nodiscard]] const StateCounts& cells() const { return cells_; }
  /// True: the latest pass is the peak so far.
  [[nodiscard]] bool is_latest() const { return is_latest_; }

 private:
  std::int64_t least_available_{-1};
  bool is_latest_{false};
  SimTime time_{};
  StateCounts cells_{};
};

}  // namespace kvplan::observe
