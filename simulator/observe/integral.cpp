#include "simulator/observe/integral.h"

#include <algorithm>

namespace kvplan::observe {

void Integrals::on_span(const LedgerSpan& span) {
  const SeriesSums sums(span.series, span.series.steps);
  // Times of a run are below 2^63 ticks (core::kLastTick), and so is nearly every moment: one multiplication.
  const auto time = static_cast<std::int64_t>(sums.time);
  const auto moment = static_cast<std::int64_t>(sums.moment);
  if (time == sums.time && moment == sums.moment) {
    for (std::size_t s = 0; s < kStates; ++s) {  // most states have no cell, most do not grow
      if (span.cells[s] != 0) cell_ticks_[s] += Wide{time} * span.cells[s];
      if (span.growth[s] != 0) cell_ticks_[s] += Wide{moment} * span.growth[s];
    }
  } else {
    for (std::size_t s = 0; s < kStates; ++s) cell_ticks_[s] += sums.integral(span.cells[s], span.growth[s]);
  }
  running_ticks_ += sums.time * span.running;
  ticks_ += sums.time;
  max_running_ = std::max(max_running_, span.running);
}

void Peak::on_pass(SimTime time, const StateCounts& cells, std::int64_t /*running*/) {
  const std::int64_t available =
      cells[index(State::kCached)] + cells[index(State::kStranded)] + cells[index(State::kFree)];
  is_latest_ = least_available_ < 0 || available < least_available_;
  if (!is_latest_) return;
  least_available_ = available;
  time_ = time;
  cells_ = cells;
}

}  // namespace kvplan::observe
