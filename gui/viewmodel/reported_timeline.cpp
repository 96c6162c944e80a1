#include "gui/viewmodel/reported_timeline.h"

#include "simulator/base/units.h"

namespace kvplan::gui {

Status ReportedTimeline::end_replica() {
  if (next_ != columns_.size())
    return bad_input("expected " + std::to_string(columns_.size()) + " bins of each replica, found " +
                     std::to_string(next_));
  next_ = 0;
  return Done{};
}

Status ReportedTimeline::add(std::int64_t replica, const runs::BinNumbers& bin) {
  if (bin.begin_ns == bin.end_ns) return Done{};  // a run shorter than a nanosecond per bin
  if (replica != replica_ && replica_ >= 0) {
    KVPLAN_TRY_DO(end_replica());
    first_replica_ = false;
  }
  replica_ = replica;
  const std::int64_t begin = ticks_from_ns(bin.begin_ns).count;
  const std::int64_t end = ticks_from_ns(bin.end_ns).count;
  if (first_replica_) {
    if (columns_.size() == kMostBins)
      return bad_input("expected at most " + std::to_string(kMostBins) + " bins per replica");
    columns_.push_back({.begin = begin, .end = end});
  } else if (next_ == columns_.size() || columns_[next_].begin != begin || columns_[next_].end != end) {
    return bad_input("expected the same bins for every replica");
  }
  TimelineColumn& column = columns_[next_++];
  for (std::size_t row = 0; row < kTimelineRows; ++row) {
    column.value_ticks[row] += static_cast<Wide>(bin.mean[row] * static_cast<double>(end - begin));
    if (__builtin_add_overflow(column.least[row], bin.least[row], &column.least[row]) ||
        __builtin_add_overflow(column.greatest[row], bin.greatest[row], &column.greatest[row]))
      return bad_input("expected sums over replicas below 2^63");
  }
  return Done{};
}

Result<std::vector<TimelineColumn>> ReportedTimeline::take() {
  KVPLAN_TRY_DO(end_replica());
  return std::move(columns_);
}

}  // namespace kvplan::gui
