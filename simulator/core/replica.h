// A replica: one scheduler with one pool, advanced from outside.
//
// Life of it: whoever owns the clock delivers requests, asks for a pass where one is due, and ends the steps that it
// planned when their time has come (core/clock.h). Between a pass and the end of its steps a replica has only planned:
// nothing has been told or changed, so a request that arrives meanwhile can still shorten what is planned, and a router
// can ask for the load without changing anything.
//
// Its members are the engines (simulator/scheduling): a scheduler each, with the memory that it works on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/core/engine.h"

namespace kvplan::core {

/// What a router may know of a replica: as its latest pass or step end left it, and what was delivered since.
struct Load {
  std::int64_t running{0};  ///< members of the running list
  std::int64_t waiting{0};  ///< of the waiting queue, preempted requests too
  std::int64_t tokens{0};   ///< prompt and generated so far of both; a token counts from the end of its step
  /// Allocation units that requests hold, a shared one once, those granted for the step in progress too; slots where
  /// memory is reserved at once.
  std::int64_t blocks{0};
};

/// No step runs.
inline constexpr SimTime kNever{Ticks{INT64_MAX}};

class Replica {
 public:
  virtual ~Replica() = default;

  /// When the planned steps end; kNever if none are planned. Nothing that others could see happens before.
  [[nodiscard]] virtual SimTime step_end() const = 0;
  /// Everything before this moment has been told. kNever while no steps are planned: the state is settled, and lasts.
  [[nodiscard]] virtual SimTime observed_until() const = 0;
  /// Is a pass due? Something runs or waits, and no steps are planned.
  [[nodiscard]] virtual bool wants_pass() const = 0;

  /// A request arrives. False: it is rejected. The planned steps may end earlier from now on: with the one in progress.
  /// REQUIRES: times never go back; time <= step_end().
  virtual bool deliver(RequestId request, SimTime time) = 0;
  /// The scheduler decides, and plans at least one step, unless nothing runs or waits any more (an engine may see only
  /// then that its last requests have ended). Errors: time is up, a course that cannot be had.
  /// REQUIRES: wants_pass(), all arrivals up to `now` were delivered.
  virtual Status pass(SimTime now) = 0;
  /// The planned steps are done: tells them, their tokens and what their end frees. `ended`: requests that finished
  /// are appended, in scheduling order. REQUIRES: step_end() is not kNever.
  virtual void end_steps(std::vector<RequestId>& ended) = 0;
  /// Nothing more will come. REQUIRES: nothing runs or waits.
  virtual void end() = 0;

  /// As it is at `now`, nothing changed by asking. REQUIRES: now <= step_end().
  [[nodiscard]] virtual Load load(SimTime now) const = 0;
  /// Leading tokens of the request's prompt that are cached here and would be found; asking leaves no trace.
  /// REQUIRES: ReplicaSetup::contents_asked.
  [[nodiscard]] virtual std::int64_t cached_tokens(RequestId request) const = 0;
};

}  // namespace kvplan::core
