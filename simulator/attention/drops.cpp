#include "simulator/attention/drops.h"

#include <algorithm>

#include "simulator/attention/cell_metadata.h"
#include "simulator/attention/recorded_sets.h"
#include "simulator/base/check.h"

namespace kvplan::attention {

void IntervalDrops::dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const {
  // The tokens kept before: everything until the prompt was complete, the same interval afterwards.
  const KeptInterval& keep = keep_[static_cast<std::size_t>(track)];
  const std::int64_t from = n == prompt_ ? keep.sink : std::max(keep.sink, n - 1 - keep.recent);
  for (std::int64_t p = from; p < n - keep.recent; ++p) positions.push_back(static_cast<std::int32_t>(p));
}

IntervalDrops IntervalDrops::joined() const {
  IntervalDrops out(std::vector<KeptInterval>{}, prompt_, 0);
  for (std::size_t track = 0; track < keep_.size(); ++track) {
    if (track == 0 || keep_[track] != keep_[track - 1]) {
      out.keep_.push_back(keep_[track]);
      out.units_.push_back(0);
    }
    out.units_.back() += units_[track];
  }
  return out;
}

CellUnits counted_units(const PolicyChoice& policy, std::int64_t kv_heads) {
  return {1, cell_metadata(policy, policy.kind->traits(policy.choice)).of_token(kv_heads)};
}

RecordedDrops::RecordedDrops(std::shared_ptr<const Trajectory> trajectory)
    : trajectory_(std::move(trajectory)) {
  // A unit is the smallest set of cells that a policy decides separately; every track is one such set.
  units_.assign(trajectory_->tracks().size(), 1);
}

void RecordedDrops::dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const {
  const auto list = trajectory_->dropped(track, n - 1);
  positions.insert(positions.end(), list.begin(), list.end());
}

SetDrops::SetDrops(std::shared_ptr<const RecordedLayers> recorded, std::int64_t layers)
    : recorded_(std::move(recorded)) {
  units_.assign(static_cast<std::size_t>(layers) * recorded_->of(0)->after.front().size(), 1);
}

void SetDrops::dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const {
  const auto sets_of_layer = static_cast<std::int32_t>(recorded_->of(0)->after.front().size());
  const RecordedSets& layer = *recorded_->of(track / sets_of_layer);
  const auto set = static_cast<std::size_t>(track % sets_of_layer);
  const auto step = static_cast<std::size_t>(n - recorded_->prompt);
  KVPLAN_CHECK(n >= recorded_->prompt && step < layer.after.size(), n, recorded_->prompt);
  const auto& stay = layer.after[step][set];
  const auto drop_unless_kept = [&](std::int32_t position) {
    if (!std::binary_search(stay.begin(), stay.end(), position)) positions.push_back(position);
  };
  if (step == 0) {
    for (std::int32_t p = 0; p < static_cast<std::int32_t>(n); ++p) drop_unless_kept(p);
    return;
  }
  for (const std::int32_t position : layer.after[step - 1][set]) drop_unless_kept(position);
  drop_unless_kept(static_cast<std::int32_t>(n - 1));
}

}  // namespace kvplan::attention
