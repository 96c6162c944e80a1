// Sessions as closed loops: converts the trace's data about turns that wait for each other into the engine's form.
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

/// How the pauses of waiting requests were found.
struct LoopCounts {
  std::int64_t waiting{0};  ///< requests that wait for others
  std::int64_t stated{0};   ///< the trace has the pause
  /// the pause is the recorded arrival minus the recorded end of the last request before it (at least 0)
  std::int64_t measured{0};
  /// No end was recorded: the request arrives when the others have ended, and not before its recorded time
  std::int64_t unknown{0};
  std::int64_t clients{0};   ///< clients that share the list of requests; then nothing of the above
  std::int64_t requests{0};  ///< with clients: length of the list
};

/// Makes requests of the workload wait (`turns`, `think`, `arrival` and `order`), by the rule.
///
/// A waiting request arrives when the requests before it have ended and its pause is over. The pause is taken from the
/// trace; else it is the recorded arrival minus the recorded ends. If ends were not recorded it is 0, and the request
/// keeps at least its distance to the start of its group (all requests that are connected by waits). The start of a
/// group is its recorded time divided by `rate_scale`, like all arrivals. Not divided are pauses, distances within a
/// group, and the distance of a second request of the group that waits for no other. `order` uses the times of requests
/// that wait for no other, and the recorded times of the rest.
///
/// With clients (SessionRule::kClients) every request arrives when a client is free; `order` stays that of the recorded
/// arrivals, which have no other effect.
///
/// The workload was built from the trace's first requests (workload_builder.h). Errors: a cycle of waits; a time that
/// does not fit.
Result<LoopCounts> close_loops(const traces::Trace& trace, const workload::SessionRule& rule,
                               Fraction rate_scale, core::Workload& workload);

/// Whole sentences for a report; empty if no request waits.
std::vector<std::string> describe(const LoopCounts& counts);

}  // namespace kvplan::workload
