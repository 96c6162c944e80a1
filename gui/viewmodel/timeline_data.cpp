#include "gui/viewmodel/timeline_data.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::gui {
namespace {

using observe::kStates;

/// Adds one replica's bin, in cells, to the fleet's, in bytes.
void add_replica(const observe::TimelineBin& bin, const core::MemoryLayout& layout, TimelineColumn& sum) {
  for (std::size_t row = 0; row < kTimelineRows; ++row) {
    const std::int64_t scale = row < kStates ? layout.count_bytes() : 1;
    const std::int64_t more = row == observe::index(observe::State::kPadding) ? layout.padding_bytes() : 0;
    sum.value_ticks[row] += bin.value_ticks[row] * scale + Wide{more} * (sum.end - sum.begin);
    sum.least[row] += bin.least[row] * scale + more;
    sum.greatest[row] += bin.greatest[row] * scale + more;
  }
}

void join(const TimelineColumn& bin, TimelineColumn& column) {
  for (std::size_t row = 0; row < kTimelineRows; ++row) {
    column.value_ticks[row] += bin.value_ticks[row];
    column.least[row] = std::min(column.least[row], bin.least[row]);
    column.greatest[row] = std::max(column.greatest[row], bin.greatest[row]);
  }
  column.end = bin.end;
}

}  // namespace

std::shared_ptr<const TimelineData> TimelineData::from(const runs::RunResult& result) {
  const std::size_t count = result.details.empty() ? 0 : result.details.front().timeline.size();
  std::vector<TimelineColumn> bins;
  bins.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const observe::TimelineBin& first = result.details.front().timeline[i];
    if (first.begin == first.end) continue;  // a run shorter than a tick per bin
    TimelineColumn& sum = bins.emplace_back();
    sum.begin = first.begin.since_start.count;
    sum.end = first.end.since_start.count;
    for (const runs::ReplicaDetails& replica : result.details)
      add_replica(replica.timeline[i], replica.layout, sum);
  }
  return from(std::move(bins), result.capacity_bytes);
}

std::shared_ptr<const TimelineData> TimelineData::from(std::vector<TimelineColumn> bins,
                                                       std::int64_t capacity_bytes) {
  auto data = std::make_shared<TimelineData>();
  data->capacity_bytes_ = capacity_bytes;
  data->bins_ = std::move(bins);
  data->end_ = data->bins_.empty() ? 0 : data->bins_.back().end;
  for (const TimelineColumn& bin : data->bins_)
    for (std::size_t row = 0; row < kTimelineRows; ++row)
      data->greatest_[row] = std::max(data->greatest_[row], bin.greatest[row]);
  return data;
}

std::size_t TimelineData::bin_at(std::int64_t tick) const {
  KVPLAN_CHECK(!bins_.empty());
  const auto after =
      std::upper_bound(bins_.begin(), bins_.end(), tick,
                       [](std::int64_t t, const TimelineColumn& bin) { return t < bin.begin; });
  return after == bins_.begin() ? 0 : static_cast<std::size_t>(after - bins_.begin()) - 1;
}

std::vector<TimelineColumn> TimelineData::columns(TimeRange range, int count) const {
  KVPLAN_CHECK(count >= 1, count);
  std::vector<TimelineColumn> out;
  out.reserve(static_cast<std::size_t>(count));
  std::size_t next = bin_at(range.begin);  // the first bin that no column has
  for (int i = 0; i < count; ++i) {
    const auto edge = [&](int k) {
      return range.begin + static_cast<std::int64_t>(Wide{range.length()} * k / count);
    };
    const std::int64_t until = edge(i + 1);
    if (next < bins_.size() && (bins_[next].begin < until || i == 0)) {
      out.push_back(bins_[next++]);
      while (next < bins_.size() && bins_[next].begin < until) join(bins_[next++], out.back());
    } else {
      out.push_back(bins_[next - 1]);
    }
  }
  return out;
}

}  // namespace kvplan::gui
