#include "simulator/observe/integral.h"

#include <algorithm>

namespace kvplan::observe {
namespace {

/// Sum of the end times of n steps of a series that begins at `begin`.
Wide sum_of_ends(std::int64_t begin, const core::StepSeries& series, std::int64_t n) {
  // The sum over i in [1, n] of begin + first x i + growth x i(i - 1)/2.
  if (n <= SeriesSums::kShort) {  // without 128-bit division
    const std::int64_t ones = n * (n + 1) / 2;
    const std::int64_t twos = ones * (n - 1) / 3;
    return Wide{begin} * n + Wide{ones} * series.first.count + Wide{twos} * series.growth.count;
  }
  const Wide ones = Wide{n} * (n + 1) / 2;
  return Wide{begin} * n + ones * series.first.count + ones * (n - 1) / 3 * series.growth.count;
}

}  // namespace

void Integrals::on_span(const LedgerSpan& span) {
  for (std::size_t s = 0; s < kStates; ++s) states_[s].jump_to(span.cells[s], span.begin);
  running_.jump_to(span.running, span.begin);
  max_running_ = std::max(max_running_, span.running);
  end_ = span.end;
  const std::int64_t more = span.series.steps - 1;
  if (more == 0) return;
  // There are jumps at the ends of all steps but the last, for which the next span reports the change.
  const Wide ends = sum_of_ends(span.begin.since_start.count, span.series, more);
  for (std::size_t s = 0; s < kStates; ++s) {
    if (span.growth[s] == 0) continue;
    states_[s].moments += ends * span.growth[s];
    states_[s].value += span.growth[s] * more;
  }
}

void Integrals::on_decode_run(const LedgerDecodeRun& decode_run) {
  on_span(decode_run.span);
  for (const LedgerGrants& pass : decode_run.passes) {
    states_[index(State::kReserved)].add(pass.reserved, pass.time);
    if (pass.tail != 0) states_[index(State::kTail)].add(pass.tail, pass.time);
    if (pass.internal != 0) states_[index(State::kInternal)].add(pass.internal, pass.time);
    if (pass.cached != 0) states_[index(State::kCached)].add(pass.cached, pass.time);
    if (pass.free != 0) states_[index(State::kFree)].add(pass.free, pass.time);
  }
}

std::array<Wide, kStates> Integrals::cell_ticks() const {
  std::array<Wide, kStates> sums{};
  for (std::size_t s = 0; s < kStates; ++s) sums[s] = states_[s].until(end_);
  return sums;
}

/// Each scheduler step leaves less available memory than the one before.
void Peak::on_decode_run(const LedgerDecodeRun& decode_run) {
  on_pass(decode_run.passes.back().time, decode_run.cells_after_passes(), decode_run.span.running);
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
