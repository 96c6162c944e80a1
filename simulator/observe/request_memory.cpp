#include "simulator/observe/request_memory.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::observe {

void RequestMemory::add(RequestId request, std::int64_t alloc_units) {
  RequestHeld& r = at(request);
  r.alloc_unit_ticks += Wide{(now_ - r.since).count} * r.alloc_units;
  r.since = now_;
  r.alloc_units += alloc_units;
  KVPLAN_CHECK(r.alloc_units >= 0, r.alloc_units);
  r.most_alloc_units = std::max(r.most_alloc_units, r.alloc_units);
}

void RequestMemory::on_admit(const core::Admission& admission) {
  // Hit blocks that a window does not show are not held.
  const auto none = std::count(admission.hits.begin(), admission.hits.end(), kNoBlock);
  const std::int64_t hits =
      admission.hits.empty() ? admission.hit_tokens / alloc_unit_tokens_ : std::ssize(admission.hits) - none;
  add(admission.request, hits + state_blocks_);
}

void RequestMemory::on_decode_grants(std::span<const core::DecodeGrant> grants) {
  for (const core::DecodeGrant& grant : grants) add(grant.request, grant.alloc_units);
}

void RequestMemory::on_move(const core::Move& move) {
  if (!move.range.slides) add(move.range.request, move.range.slots);
}

void RequestMemory::on_copies_end(SimTime time, std::span<const core::Move> copies,
                                  const core::PoolCounts& /*pool*/) {
  now_ = time;
  for (const core::Move& copy : copies) add(copy.range.request, -copy.range.from_slots);
}

void RequestMemory::on_decode_run(const core::DecodeRun& decode_run) {
  auto grants = decode_run.grants;
  for (const core::GrantingPass& pass : decode_run.passes) {
    now_ = decode_run.pass.time + Ticks{static_cast<std::int64_t>(decode_run.series.span(pass.step))};
    on_decode_grants(grants.first(static_cast<std::size_t>(pass.grants)));
    grants = grants.subspan(static_cast<std::size_t>(pass.grants));
  }
}

void RequestMemory::on_compact(const core::Compacted& compacted) {
  add(compacted.request, compacted.moved.alloc_units - compacted.moved.alloc_units_before);
}

void RequestMemory::on_free_blocks(const core::FreedBlocks& gone) {
  add(gone.request, -static_cast<std::int64_t>(gone.entries.size()));
}

}  // namespace kvplan::observe
