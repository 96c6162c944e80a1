// Sessions as closed loops: turns what a trace says of turns that wait for each other into what the engine follows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/base/fraction.h"
#include "simulator/base/result.h"
#include "simulator/core/workload.h"
#include "simulator/workload/sessions.h"
#include "traces/record/trace.h"

namespace kvplan::workload {

/// How the pauses of requests that wait for others were found.
struct LoopCounts {
  std::int64_t waiting{0};  ///< requests that wait for others
  std::int64_t stated{0};   ///< the trace states the pause
  /// Arrival less the end of the last request before it, both recorded (0 at least)
  std::int64_t measured{0};
  std::int64_t unknown{0};  ///< no end was recorded: it comes when the others have ended, not before its time
};

/// Makes requests of the workload wait (`turns`, `think`, `arrival` and `order`), as the rule says.
///
/// A request that waits arrives when those before it have ended and its pause is over. The pause is the trace's; else
/// the recorded arrival less the recorded ends; where ends were not recorded it is 0, and the request keeps its
/// distance to the start of its group (all that waits join) at least. Starts of groups are recorded times divided by
/// `rate_scale`, as all arrivals; pauses and distances within a group are not, those of a second request that waits for
/// nobody neither. `order` is by the times of those that wait for nobody and by recorded times of the others.
///
/// The workload was built of the trace's first requests (workload_builder.h). Errors: waits in a circle; a time that
/// does not fit.
Result<LoopCounts> close_loops(const traces::Trace& trace, const workload::SessionRule& rule,
                               Fraction rate_scale, core::Workload& workload);

/// Whole sentences for a report; empty where nobody waits.
std::vector<std::string> describe(const LoopCounts& counts);

}  // namespace kvplan::workload
