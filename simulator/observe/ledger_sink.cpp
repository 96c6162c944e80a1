#include "simulator/observe/ledger_sink.h"

namespace kvplan::observe {

void add_grants(StateCounts& cells, const LedgerGrants& pass) {
  cells[index(State::kReserved)] += pass.reserved;
  cells[index(State::kTail)] += pass.tail;
  cells[index(State::kInternal)] += pass.internal;
  cells[index(State::kCached)] += pass.cached;
  cells[index(State::kFree)] += pass.free;
}

StateCounts LedgerDecodeRun::cells_after_passes() const {
  StateCounts cells = span.cells;
  for (std::size_t s = 0; s < kStates; ++s) cells[s] += span.growth[s] * passes.back().step;
  for (const LedgerGrants& pass : passes) add_grants(cells, pass);
  return cells;
}

void LedgerSink::on_decode_run(const LedgerDecodeRun& decode_run) {
  LedgerSpan span = decode_run.span;
  std::int64_t step = 0;
  const auto run_until = [&](std::int64_t end, SimTime time) {
    span.series = decode_run.span.series.part(step, end - step);
    span.end = time;
    on_span(span);
    for (std::size_t s = 0; s < kStates; ++s) span.cells[s] += span.growth[s] * (end - step);
    span.begin = time;
    step = end;
  };
  const core::PoolCounts* before = &decode_run.pool_before;
  for (std::size_t i = 0; i < decode_run.passes.size(); ++i) {
    const LedgerGrants& pass = decode_run.passes[i];
    const core::PoolCounts& pool = decode_run.granted[i].pool;
    run_until(pass.step, pass.time);
    add_grants(span.cells, pass);
    if (!same_beside_states(pool, *before)) on_pool(pass.time, pool, decode_run.refusal);
    before = &pool;
    on_pass(pass.time, span.cells, span.running);
  }
  run_until(decode_run.span.series.steps, decode_run.span.end);
}

}  // namespace kvplan::observe
