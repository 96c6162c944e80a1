#include "simulator/observe/kind_sums.h"

#include "simulator/base/check.h"

namespace kvplan::observe {

KindSums::KindSums(const core::MemoryLayout& layout, const Peak& peak) : peak_(peak) {
  const std::size_t kinds = layout.layer_kinds().size();
  count_ticks_.resize(kinds);
  at_peak_.resize(kinds);
  held_.resize(kinds);
  growth_.resize(kinds);
}

void KindSums::on_kinds(std::span<const StateCounts> held, std::span<const StateCounts> growth) {
  KVPLAN_CHECK(held.size() == held_.size() && growth.size() == growth_.size());
  held_.assign(held.begin(), held.end());
  growth_.assign(growth.begin(), growth.end());
}

void KindSums::on_span(const LedgerSpan& span) {
  if (held_.empty()) return;
  const SeriesSums sums(span.series, span.series.steps);
  for (std::size_t k = 0; k < held_.size(); ++k)
    for (std::size_t s = 0; s < kStates; ++s)
      if (held_[k][s] != 0 || growth_[k][s] != 0)
        count_ticks_[k][s] += sums.integral(held_[k][s], growth_[k][s]);
}

void KindSums::on_pass(SimTime /*time*/, const StateCounts& /*cells*/, std::int64_t /*running*/) {
  if (peak_.is_latest()) at_peak_ = held_;
}

}  // namespace kvplan::observe
