// From a trace to what an engine serves: arrivals as ticks since the trace's first arrival, stretched or
// compressed.
#pragma once

#include <cstdint>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/core/workload.h"
#include "traces/record/trace.h"

namespace kvplan::plan {

/// An exact positive fraction p/q.
struct Fraction {
  std::int64_t numerator{1};
  std::int64_t denominator{1};
  friend bool operator==(const Fraction&, const Fraction&) = default;
};

/// Reads "p/q" or a decimal (0.25, 2, 1.5e1) exactly; positive, both parts below 2^31 once reduced.
Result<Fraction> parse_fraction(std::string_view text);

/// Requests [0, limit) of the trace (limit < 0: all). Times since the trace's first arrival (of those
/// requests) are divided by `rate_scale` exactly and rounded down to the tick. The trace outlives the
/// workload, which refers to its hashes. Errors: times that do not fit after scaling.
Result<core::Workload> build_workload(const traces::Trace& trace, Fraction rate_scale, std::int64_t limit);

/// The integer-step clock of the golden `sched` driver: arrival = floor(milliseconds since the clock's zero /
/// quantum_ms), one tick per step.
core::Workload build_step_workload(const traces::Trace& trace, std::int64_t quantum_ms);

}  // namespace kvplan::plan
