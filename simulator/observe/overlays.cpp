#include "simulator/observe/overlays.h"

#include "simulator/base/check.h"

namespace kvplan::observe {

OverlayCounts overlays_of(const StateCounts& cells, const core::PoolCounts& pool, core::Refusal refusal,
                          std::int64_t alloc_unit) {
  const std::int64_t stranded = cells[index(State::kStranded)];
  KVPLAN_CHECK(stranded == 0 || refusal != core::Refusal::kNone, stranded);
  OverlayCounts counts{};
  counts[index(Overlay::kAvailable)] = cells[index(State::kCached)] + stranded + cells[index(State::kFree)];
  counts[index(Overlay::kStrandedTooShort)] = refusal == core::Refusal::kTooShort ? stranded : 0;
  counts[index(Overlay::kStrandedFragmented)] = refusal == core::Refusal::kFragmented ? stranded : 0;
  counts[index(Overlay::kCachedDuplicate)] = pool.duplicates * alloc_unit;
  counts[index(Overlay::kCachedUnreachable)] = pool.unreachable * alloc_unit;
  counts[index(Overlay::kSavedBySharing)] = pool.sharers * alloc_unit;
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
  sums[index(Overlay::kCachedDuplicate)] = duplicates_.until(end) * alloc_unit_;
  sums[index(Overlay::kCachedUnreachable)] = unreachable_.until(end) * alloc_unit_;
  sums[index(Overlay::kSavedBySharing)] = sharers_.until(end) * alloc_unit_;
  return sums;
}

void Overlays::on_span(const LedgerSpan& span) {
  if (refusal_ == core::Refusal::kFragmented)
    fragmented_ticks_ += Wide{(span.end - span.begin).count} * span.cells[index(State::kStranded)];
}

/// A decode run strands nothing, and only its last scheduler step can be the peak (Peak::on_decode_run).
void Overlays::on_decode_run(const LedgerDecodeRun& decode_run) {
  decode_run.tell_pools(
      [&](SimTime time, const core::PoolCounts& pool) { on_pool(time, pool, decode_run.refusal); });
  if (peak_.is_latest())
    at_peak_ = overlays_of(decode_run.cells_after_passes(), pool_, refusal_, alloc_unit_);
}

void Overlays::on_pass(SimTime /*time*/, const StateCounts& cells, std::int64_t /*running*/) {
  if (peak_.is_latest()) at_peak_ = overlays_of(cells, pool_, refusal_, alloc_unit_);
}

}  // namespace kvplan::observe
