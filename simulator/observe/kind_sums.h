// For models with groups of layers (core::MemoryLayout::groups): the states of held memory by kind of group, as a mean
// and at the peak. Memory that no request holds, and the null block, belongs to no kind.
#pragma once

#include <vector>

#include "simulator/observe/integral.h"

namespace kvplan::observe {

class KindSums final : public LedgerSink {
 public:
  /// Stores the held states at the peak. REQUIRES: the ledger calls `peak` before this sink; both outlive the
  /// run.
  KindSums(const core::MemoryLayout& layout, const Peak& peak);

  void on_kinds(std::span<const StateCounts> held, std::span<const StateCounts> growth) override;
  void on_span(const LedgerSpan& span) override;
  void on_pass(SimTime time, const StateCounts& cells, std::int64_t running) override;

  // Both results are by index in model::kinds_of.

  /// Sums over time, in counts x ticks.
  [[nodiscard]] const std::vector<std::array<Wide, kStates>>& count_ticks() const { return count_ticks_; }
  /// At the peak.
  [[nodiscard]] const std::vector<StateCounts>& at_peak() const { return at_peak_; }

 private:
  std::vector<StateCounts> held_, growth_;  // of the span or pass that is reported next
  const Peak& peak_;
  std::vector<std::array<Wide, kStates>> count_ticks_;
  std::vector<StateCounts> at_peak_;
};

}  // namespace kvplan::observe
