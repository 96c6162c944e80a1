#include "simulator/observe/timeline.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "simulator/observe/integral.h"

namespace kvplan::observe {
namespace {

std::int64_t value_of(const LedgerSpan& span, std::size_t row) {
  if (row < kStates) return span.cells[row];
  return row == kStates ? span.running : span.waiting;
}

std::int64_t growth_of(const LedgerSpan& span, std::size_t row) {
  return row < kStates ? span.growth[row] : 0;
}

/// The number of steps of the series that end at or before `moment`.
std::int64_t steps_ended_by(const LedgerSpan& span, SimTime moment) {
  std::int64_t low = 0;
  std::int64_t high = span.series.steps;
  const Wide distance = Wide{(moment - span.begin).count};
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (span.series.span(middle) <= distance) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace

double TimelineBin::mean(std::size_t row) const {
  const std::int64_t length = (end - begin).count;
  return length == 0 ? 0 : static_cast<double>(value_ticks[row]) / static_cast<double>(length);
}

Timeline::Timeline(SimTime end, std::int64_t bins) : bins_(static_cast<std::size_t>(bins)) {
  KVPLAN_CHECK(bins >= 1, bins);
  for (std::int64_t i = 0; i < bins; ++i) {
    const auto edge = [&](std::int64_t k) {
      return SimTime{Ticks{static_cast<std::int64_t>(Wide{end.since_start.count} * k / bins)}};
    };
    bins_[static_cast<std::size_t>(i)].begin = edge(i);
    bins_[static_cast<std::size_t>(i)].end = edge(i + 1);
  }
}

Timeline Timeline::joined(std::int64_t most) {
  KVPLAN_CHECK(most >= 2 && most % 2 == 0, most);
  constexpr std::int64_t kNarrow = std::int64_t{1} << 16;  // 64 microseconds
  Timeline timeline(SimTime{Ticks{most * kNarrow}}, most);
  timeline.width_ = kNarrow;
  return timeline;
}

void Timeline::join_pairs() {
  width_ *= 2;
  const std::size_t half = bins_.size() / 2;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    TimelineBin joined;
    joined.begin = SimTime{Ticks{width_ * static_cast<std::int64_t>(i)}};
    joined.end = joined.begin + Ticks{width_};
    for (std::size_t part = 2 * i; i < half && part < 2 * i + 2; ++part) {
      const TimelineBin& bin = bins_[part];
      if (!bin.seen) continue;
      for (std::size_t row = 0; row < kTimelineRows; ++row) {
        joined.value_ticks[row] += bin.value_ticks[row];
        joined.least[row] = joined.seen ? std::min(joined.least[row], bin.least[row]) : bin.least[row];
        joined.greatest[row] =
            joined.seen ? std::max(joined.greatest[row], bin.greatest[row]) : bin.greatest[row];
      }
      joined.seen = true;
    }
    bins_[i] = joined;
  }
  current_ /= 2;
}

void Timeline::end_at(SimTime end) {
  KVPLAN_CHECK(width_ > 0);
  while (!bins_.empty() && bins_.back().begin >= end) bins_.pop_back();
  if (!bins_.empty()) bins_.back().end = std::min(bins_.back().end, end);
}

/// `steps` whole steps from `step` on (length = 0), or a piece of `length` ticks of one step.
void Timeline::add(TimelineBin& bin, const LedgerSpan& span, std::int64_t step, std::int64_t steps,
                   Wide length) {
  const SeriesSums sums({span.series.duration(step), span.series.growth, steps}, steps);
  for (std::size_t row = 0; row < kTimelineRows; ++row) {
    const std::int64_t growth = growth_of(span, row);
    const std::int64_t first = value_of(span, row) + step * growth;
    const std::int64_t last = first + (steps - 1) * growth;
    if (length > 0) {
      bin.value_ticks[row] += length * first;
    } else {
      bin.value_ticks[row] += sums.integral(first, growth);
    }
    const auto [low, high] = std::minmax(first, last);
    bin.least[row] = bin.seen ? std::min(bin.least[row], low) : low;
    bin.greatest[row] = bin.seen ? std::max(bin.greatest[row], high) : high;
  }
  bin.seen = true;
}

void Timeline::on_span(const LedgerSpan& span) {
  std::int64_t step = 0;  // the first step that is not told whole
  SimTime from = span.begin;
  const std::int64_t steps = span.series.steps;
  const SimTime until = span.begin + Ticks{static_cast<std::int64_t>(span.series.span(steps))};
  while (width_ > 0 && until > bins_.back().end) join_pairs();
  while (step < steps && from < until) {
    while (current_ < bins_.size() && bins_[current_].end <= from) ++current_;
    if (current_ == bins_.size()) return;
    TimelineBin& bin = bins_[current_];
    const SimTime step_begin = span.begin + Ticks{static_cast<std::int64_t>(span.series.span(step))};
    const SimTime step_end = span.begin + Ticks{static_cast<std::int64_t>(span.series.span(step + 1))};
    if (from == step_begin && step_end <= bin.end) {  // whole steps inside the bin
      const std::int64_t ended = std::max(steps_ended_by(span, bin.end), step + 1);
      add(bin, span, step, ended - step, 0);
      step = ended;
      from = span.begin + Ticks{static_cast<std::int64_t>(span.series.span(step))};
      continue;
    }
    const SimTime stop = std::min(step_end, bin.end);
    if (stop > from) add(bin, span, step, 1, Wide{(stop - from).count});
    from = stop;
    if (stop == step_end) ++step;
  }
}

}  // namespace kvplan::observe
