// Converts a trace to an engine's workload: arrivals in ticks since the trace's first arrival, stretched or compressed.
#pragma once

#include <cstdint>

#include "simulator/base/fraction.h"
#include "simulator/base/result.h"
#include "simulator/core/workload.h"
#include "traces/record/trace.h"

namespace kvplan::workload {

/// Takes requests [0, limit) of the trace (limit < 0: all). Times since the first arrival (of those requests) are
/// divided by `rate_scale` exactly and rounded down to the tick. The trace outlives the workload, which refers to its
/// hashes and optional columns. No request waits for another (closed_loops.h adds that). Errors: times that do not fit
/// after scaling.
Result<core::Workload> build_workload(const traces::Trace& trace, Fraction rate_scale, std::int64_t limit);

/// The integer-step clock of the golden `sched` driver: arrival = floor(milliseconds since the clock's zero /
/// quantum_ms), one tick per step. No request waits for another.
core::Workload build_step_workload(const traces::Trace& trace, std::int64_t quantum_ms);

/// Sets `order` to all requests by (arrival, position).
void sort_by_arrival(core::Workload& workload);

}  // namespace kvplan::workload
