#include "simulator/observe/ledger_sink.h"

namespace kvplan::observe {

void add_grants(StateCounts& cells, const LedgerGrants& pass) {
  cells[index(State::kReserved)] += pass.reserved;
  cells[index(State::kTail)] += pass.tail;
  cells[index(State::kInternal)] += pass.internal;
  cells[index(State::kCached)] += pass.cached;
  cells[index(State::kFree)] += pass.free;
}

StateCounts LedgerStretch::cells_after_passes() const {
  StateCounts cells = span.cells;
  for (std::size_t s = 0; s < kStates; ++s) cells[s] += span.growth[s] * passes.back().step;
  for (const LedgerGrants& pass : passes) add_grants(cells, pass);
  return cells;
}

void LedgerSink::on_stretch(const LedgerStretch& stretch) {
  LedgerSpan span = stretch.span;
  std::int64_t step = 0;
  const auto run_until = [&](std::int64_t end, SimTime time) {
    span.series = stretch.span.series.part(step, end - step);
    span.end = time;
    on_span(span);
    for (std::size_t s = 0; s < kStates; ++s) span.cells[s] += span.growth[s] * (end - step);
    span.begin = time;
    step = end;
  };
  const core::PoolCounts* before = &stretch.pool_before;
  for (std::size_t i = 0; i < stretch.passes.size(); ++i) {
    const LedgerGrants& pass = stretch.passes[i];
    const core::PoolCounts& pool = stretch.granted[i].pool;
    run_until(pass.step, pass.time);
    add_grants(span.cells, pass);
    if (!same_beside_states(pool, *before)) on_pool(pass.time, pool, stretch.refusal);
    before = &pool;
    on_pass(pass.time, span.cells, span.running);
  }
  run_until(stretch.span.series.steps, stretch.span.end);
}

}  // namespace kvplan::observe
