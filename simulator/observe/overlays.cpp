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

void Overlays::on_pool(SimTime time, const core::PoolCounts& pool, core::Refusal refusal) {
  pool_ = pool;
  refusal_ = refusal;
  duplicates_.jump_to(pool.duplicates, time);
  unreachable_.jump_to(pool.unreachable, time);
  sharers_.jump_to(pool.sharers, time);
}

std::array<Wide, kOverlays> Overlays::count_ticks(const std::array<Wide, kStates>& states,
                                                  SimTime end) const {
  const Wide stranded = states[index(State::kStranded)];
  std::array<Wide, kOverlays> sums{};
  sums[index(Overlay::kAvailable)] = states[index(State::kCached)] + stranded + states[index(State::kFree)];
  sums[index(Overlay::kStrandedTooShort)] = stranded - fragmented_ticks_;
  sums[index(Overlay::kStrandedFragmented)] = fragmented_ticks_;
  sums[index(Overlay::kCachedDuplicate)] = duplicates_.until(end) * quantum_;
  sums[index(Overlay::kCachedUnreachable)] = unreachable_.until(end) * quantum_;
  sums[index(Overlay::kSavedBySharing)] = sharers_.until(end) * quantum_;
  return sums;
}

void Overlays::on_span(const LedgerSpan& span) {
  if (moment_ && span.begin <= *moment_) at_peak_ = now(span.cells);
  if (refusal_ == core::Refusal::kFragmented)
    fragmented_ticks_ += Wide{(span.end - span.begin).count} * span.cells[index(State::kStranded)];
}

void Overlays::on_pass(SimTime time, const StateCounts& cells, std::int64_t /*running*/) {
  if (peak_ != nullptr ? peak_->is_latest() : time <= *moment_) at_peak_ = now(cells);
}

}  // namespace kvplan::observe
