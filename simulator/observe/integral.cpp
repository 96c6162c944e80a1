#include "simulator/observe/integral.h"

#include <algorithm>

namespace kvplan::observe {

void Integrals::on_span(const LedgerSpan& span) {
  const std::int64_t n = span.series.steps;
  const Wide length = span.series.span(n);
  for (std::size_t s = 0; s < kStates; ++s) {
    if (span.growth[s] == 0) {
      cell_ticks_[s] += length * span.cells[s];
    } else {
      cell_ticks_[s] += integral(span.cells[s], span.growth[s], span.series, n);
    }
  }
  running_ticks_ += length * span.running;
  ticks_ += length;
  max_running_ = std::max(max_running_, span.running);
}

void Peak::on_pass(SimTime time, const StateCounts& cells, std::int64_t /*running*/) {
  const std::int64_t available =
      cells[index(State::kCached)] + cells[index(State::kStranded)] + cells[index(State::kFree)];
  if (least_available_ >= 0 && available >= least_available_) return;
  least_available_ = available;
  time_ = time;
  cells_ = cells;
}

}  // namespace kvplan::observe
