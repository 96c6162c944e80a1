// The clock: the order in which replicas advance and requests arrive.
//
// At one tick, in this order: first the ends of steps of all replicas, in replica order; then arrivals that were known
// before, in file order; then turns that these ends cause without a pause, of all replicas together in file order (a
// rejection ends a turn too: followers that it releases at this tick join the arrivals still to come); then the
// scheduler steps of replicas that are idle or have ended their steps, in replica order. A step of no ticks ends after
// all scheduler steps of its tick; then the order begins again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "simulator/core/arrivals.h"
#include "simulator/core/router.h"
#include "simulator/core/workload.h"

namespace kvplan::core {

/// One replica and its requests, which do not depend on requests of other replicas. An arrival at the moment at which a
/// step ends is reported before that end; this changes only the order in which observers are called.
class Solo {
 public:
  /// `requests`: first the requests that wait for no other, by (arrival, position), then all others. A request and
  /// those it waits for are in the same list. All arguments outlive this object; `control` may be null.
  Solo(Replica& replica, const Workload& workload, std::span<const RequestId> requests, RunControl* control)
      : replica_(replica), arrivals_(workload, requests), control_(control) {}

  /// Advances through everything that happens before `until`. Errors: interrupted (control->stop), simulated
  /// time exceeded, a course that cannot be made.
  Status advance(SimTime until);
  /// True: nothing is left to happen.
  [[nodiscard]] bool done() const {
    return !arrivals_.any() && replica_.step_end() == kNever && !replica_.wants_pass();
  }

 private:
  void deliver_until(SimTime time);

  Replica& replica_;
  Arrivals arrivals_;
  RunControl* control_;
  SimTime now_{};
  std::vector<RequestId> ended_;
};

/// Runs a Solo to its end, then calls Replica::end.
Status run_alone(Replica& replica, const Workload& workload, std::span<const RequestId> requests,
                 RunControl* control);

/// Called now and then with a time before which all replicas have reported everything. Returns how many reports still
/// wait for a later such time; if there are many, the next call comes sooner.
using ToldUntil = std::function<std::int64_t(SimTime)>;

/// Runs replicas with requests that do not depend on each other. `requests`: by replica, as Solo expects them. `told`
/// may be empty. A replica is advanced by one of `threads` threads at a time, so anything that replicas share must be
/// thread-safe. The result does not depend on the number of threads. Errors: as Solo::advance.
Status run_apart(std::span<const std::unique_ptr<Replica>> replicas, const Workload& workload,
                 std::span<const std::vector<RequestId>> requests, RunControl* control, const ToldUntil& told,
                 int threads);

/// Called for each request when it arrives, in order of arrival. `round` counts how often the order at that tick (see
/// the top of this file) has begun again, which steps of no ticks cause.
using RoutedTold = std::function<void(std::int64_t round, RequestId request)>;

/// Replicas on one clock.
struct FleetRun {
  const Workload* workload{nullptr};
  std::span<const std::unique_ptr<Replica>> replicas;
  Router* router{nullptr};                         ///< chooses the replica of each request when it arrives
  std::vector<std::int32_t>* replica_of{nullptr};  ///< by request: its replica, -1 until it arrives
  RunControl* control{nullptr};                    ///< may be null
  ToldUntil told;                                  ///< may be empty
  RoutedTold routed;                               ///< may be empty
};
/// Runs to the end of the last request. Errors: as Solo::advance.
Status run_together(const FleetRun& run);

}  // namespace kvplan::core
