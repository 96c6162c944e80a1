#include "simulator/observe/overlays.h"

#include "simulator/base/check.h"

namespace kvplan::observe {

OverlayCounts Overlays::now(const StateCounts& cells) const {
  const std::int64_t stranded = cells[index(State::kStranded)];
  KVPLAN_CHECK(stranded == 0 || refusal_ != core::Refusal::kNone, stranded);
  OverlayCounts counts{};
  counts[index(Overlay::kAvailable)] = cells[index(State::kCached)] + stranded + cells[index(State::kFree)];
  counts[index(Overlay::kStrandedTooShort)] = refusal_ == core::Refusal::kTooShort ? stranded : 0;
  counts[index(Overlay::kStrandedFragmented)] = refusal_ == core::Refusal::kFragmented ? stranded : 0;
  counts[index(Overlay::kCachedDuplicate)] = pool_.duplicates * quantum_;
  counts[index(Overlay::kCachedUnreachable)] = pool_.unreachable * quantum_;
  counts[index(Overlay::kSavedBySharing)] = pool_.sharers * quantum_;
  return counts;
}

void Overlays::on_pool(const core::PoolCounts& pool, core::Refusal refusal) {
  pool_ = pool;
  refusal_ = refusal;
}

void Overlays::on_span(const LedgerSpan& span) {
  for (const State idle : {State::kCached, State::kStranded, State::kFree})
    KVPLAN_CHECK(span.growth[index(idle)] == 0, span.growth[index(idle)]);
  const OverlayCounts counts = now(span.cells);
  const Wide time = span.series.span(span.series.steps);
  for (std::size_t i = 0; i < kOverlays; ++i)
    if (counts[i] != 0) count_ticks_[i] += time * counts[i];
  if (moment_ && span.begin <= *moment_) at_peak_ = counts;
}

void Overlays::on_pass(SimTime time, const StateCounts& cells, std::int64_t /*running*/) {
  if (peak_ != nullptr ? peak_->is_latest() : time <= *moment_) at_peak_ = now(cells);
}

}  // namespace kvplan::observe
