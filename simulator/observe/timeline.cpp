#include "simulator/observe/timeline.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "simulator/observe/integral.h"

namespace kvplan::observe {
namespace {

/// The value of a row during step `step` of a span.
std::int64_t value_of(const LedgerSpan& span, std::size_t row, std::int64_t step) {
  if (row < kStates) return span.cells[row] + step * span.growth[row];
  return row == kStates ? span.running : span.waiting;
}

void widen(TimelineBin& bin, std::size_t row, std::int64_t value) {
  bin.least[row] = std::min(bin.least[row], value);
  bin.greatest[row] = std::max(bin.greatest[row], value);
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

Timeline Timeline::joined(std::int64_t most, SimTime reached) {
  KVPLAN_CHECK(most >= 2 && most % 2 == 0, most);
  std::int64_t width = std::int64_t{1} << 16;  // 64 microseconds
  while (Wide{most} * width < reached.since_start.count) width *= 2;
  Timeline timeline(SimTime{Ticks{most * width}}, most);
  timeline.width_ = width;
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
  on_end(end, {});
  while (!bins_.empty() && bins_.back().begin >= end) bins_.pop_back();
  if (!bins_.empty()) bins_.back().end = std::min(bins_.back().end, end);
}

void Timeline::settle_row(TimelineBin& bin, std::size_t row, SimTime until) {
  bin.value_ticks[row] += Wide{(until - since_[row]).count} * held_[row];
  since_[row] = until;
}

void Timeline::settle(TimelineBin& bin, SimTime until) {
  if (!bin.seen) return;
  for (std::size_t row = 0; row < kTimelineRows; ++row) settle_row(bin, row, until);
}

void Timeline::close_bins_until(SimTime time) {
  for (; current_ < bins_.size() && bins_[current_].end <= time; ++current_)
    settle(bins_[current_], bins_[current_].end);
}

/// Adds `steps` whole steps from `step` on, or a part of that one step, from `from` until `until`: all in the bin.
void Timeline::add(TimelineBin& bin, const LedgerSpan& span, std::int64_t step, std::int64_t steps,
                   SimTime from, SimTime until) {
  if (!bin.seen) {
    for (std::size_t row = 0; row < kTimelineRows; ++row)
      bin.least[row] = bin.greatest[row] = held_[row] = value_of(span, row, step);
    since_.fill(from);
    bin.seen = true;
  }
  for (std::size_t row = 0; row < kTimelineRows; ++row) {
    const std::int64_t value = value_of(span, row, step);
    if (value == held_[row]) continue;
    settle_row(bin, row, from);
    held_[row] = value;
    widen(bin, row, value);
  }
  if (steps == 1) return;
  const SeriesSums sums({span.series.duration(step), span.series.growth, steps}, steps);
  for (std::size_t s = 0; s < kStates; ++s) {
    if (span.growth[s] == 0) continue;
    settle_row(bin, s, from);
    bin.value_ticks[s] += sums.integral(held_[s], span.growth[s]);
    since_[s] = until;
    held_[s] += (steps - 1) * span.growth[s];
    widen(bin, s, held_[s]);
  }
}

void Timeline::on_span(const LedgerSpan& span) {
  const std::int64_t steps = span.series.steps;
  const SimTime until = span.begin + Ticks{static_cast<std::int64_t>(span.series.span(steps))};
  max_running_ = std::max(max_running_, span.running);
  if (until == span.begin) return;
  while (width_ > 0 && until > bins_.back().end) join_pairs();
  if (current_ < bins_.size() && until <= bins_[current_].end) {
    add(bins_[current_], span, 0, steps, span.begin, until);
  } else {
    add_across(span, until);
  }
  close_bins_until(until);
}

void Timeline::on_end(SimTime time, const StateCounts& /*cells*/) {
  if (current_ < bins_.size()) settle(bins_[current_], time);
}

/// Adds a span that ends after the bin in which it begins.
void Timeline::add_across(const LedgerSpan& span, SimTime until) {
  std::int64_t step = 0;  // the first step that is not reported completely
  for (SimTime from = span.begin; from < until;) {
    close_bins_until(from);
    if (current_ == bins_.size()) return;
    TimelineBin& bin = bins_[current_];
    const SimTime step_begin = span.begin + Ticks{static_cast<std::int64_t>(span.series.span(step))};
    const SimTime step_end = span.begin + Ticks{static_cast<std::int64_t>(span.series.span(step + 1))};
    SimTime stop = std::min(step_end, bin.end);
    if (from == step_begin && step_end <= bin.end) {  // whole steps inside the bin
      const std::int64_t ended = std::max(steps_ended_by(span, bin.end), step + 1);
      stop = span.begin + Ticks{static_cast<std::int64_t>(span.series.span(ended))};
      add(bin, span, step, ended - step, from, stop);
      step = ended;
    } else {
      if (stop > from) add(bin, span, step, 1, from, stop);
      if (stop == step_end) ++step;
    }
    from = stop;
  }
}

}  // namespace kvplan::observe
