// A replica: one scheduler with one pool, advanced from outside.
//
// The owner of the clock delivers requests, runs a scheduler step (pass) when one is due, and ends the planned steps
// when their time has come (core/clock.h). Between a pass and the end of its steps, those steps are only a plan:
// nothing about them has been reported or changed. So a request that arrives meanwhile can still shorten the plan, and
// a router can ask for the load without changing anything.
//
// Each engine (simulator/scheduling) implements this interface with its scheduler and memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/core/engine.h"

namespace kvplan::core {

/// What a router may know of a replica: its state after its latest pass or step end, and the requests delivered
/// since.
struct Load {
  std::int64_t running{0};  ///< requests in the running list
  std::int64_t waiting{0};  ///< requests in the waiting queue, preempted ones included
  /// Prompt and generated tokens of running and waiting requests; a token counts from the end of its step
  std::int64_t tokens{0};
  /// Allocation units that requests hold, shared ones counted once, with those granted for the step in
  /// progress; slots where memory is reserved at admission.
  std::int64_t blocks{0};
};

/// A time that never comes.
inline constexpr SimTime kNever{Ticks{INT64_MAX}};

class Replica {
 public:
  virtual ~Replica() = default;

  /// When the planned steps end; kNever if none are planned. Before that time nothing visible from outside
  /// happens.
  [[nodiscard]] virtual SimTime step_end() const = 0;
  /// Everything before this time has been reported. kNever while no steps are planned: the state does not
  /// change by itself then.
  [[nodiscard]] virtual SimTime observed_until() const = 0;
  /// True: a pass is due. Something runs or waits, and no steps are planned.
  [[nodiscard]] virtual bool wants_pass() const = 0;

  /// A request arrives. False: it is rejected. The planned steps may end earlier from now on, with the one in
  /// progress. REQUIRES: times never go back; time <= step_end().
  virtual bool deliver(RequestId request, SimTime time) = 0;
  /// Runs the scheduler and plans at least one step, unless nothing runs or waits any more (some engines notice
  /// only now that their last requests have ended). Errors: simulated time is up, a course that cannot be made.
  /// REQUIRES: wants_pass(); all arrivals up to `now` were delivered.
  virtual Status pass(SimTime now) = 0;
  /// Ends the planned steps: reports them, their tokens and the blocks that their end frees. Appends finished requests
  /// to `ended`, in scheduling order. REQUIRES: step_end() is not kNever.
  virtual void end_steps(std::vector<RequestId>& ended) = 0;
  /// The run has ended: no request will arrive. REQUIRES: nothing runs or waits.
  virtual void end() = 0;

  /// The load at `now`; asking changes nothing. REQUIRES: now <= step_end().
  [[nodiscard]] virtual Load load(SimTime now) const = 0;
  /// Leading prompt tokens of the request that a lookup would find in this replica's cache; asking changes
  /// nothing. REQUIRES: ReplicaSetup::contents_asked.
  [[nodiscard]] virtual std::int64_t cached_tokens(RequestId request) const = 0;
};

}  // namespace kvplan::core
