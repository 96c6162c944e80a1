// What each kind of group holds where layers lie in groups (core::MemoryLayout::groups): its part of the states that
// requests hold, as a mean and at the peak. What nobody holds, and the null block, is of no kind.
#pragma once

#include <vector>

#include "simulator/observe/integral.h"

namespace kvplan::observe {

class KindSums final : public LedgerSink {
 public:
  /// Remembers what is held at the peak. REQUIRES: the ledger tells `peak` before it; both outlive the run.
  KindSums(const core::MemoryLayout& layout, const Peak& peak);

  void on_kinds(std::span<const StateCounts> held, std::span<const StateCounts> growth) override;
  void on_span(const LedgerSpan& span) override;
  void on_pass(SimTime time, const StateCounts& cells, std::int64_t running) override;

  // By place in model::kinds_of.

  /// Sums over time, in counts x ticks.
  [[nodiscard]] const std::vector<std::array<Wide, kStates>>& count_ticks() const { return count_ticks_; }
  /// At the peak.
  [[nodiscard]] const std::vector<StateCounts>& at_peak() const { return at_peak_; }

 private:
  std::vector<StateCounts> held_, growth_;  // of what is told next
  const Peak& peak_;
  std::vector<std::array<Wide, kStates>> count_ticks_;
  std::vector<StateCounts> at_peak_;
};

}  // namespace kvplan::observe
