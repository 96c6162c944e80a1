// The clock: in which order replicas are advanced and requests arrive.
//
// At one tick, in this order: the ends of steps, of all replicas, in their order; arrivals that were known before, in
// file order; turns that these ends cause without a pause, those of all replicas together in file order (a rejection
// ends a turn: followers that it sets free at the tick join the arrivals still to come); then the passes of replicas
// that are idle or whose steps have ended, in their order. A step of no ticks ends after all passes of its tick, and
// then the order begins again.
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

/// One replica and requests of its own, which nobody else's depend on. Arrivals that fall on a step's end are told
/// before it, which changes nothing but the order in which observers are told.
class Solo {
 public:
  /// `requests`: those that wait for nobody by (arrival, position), then all others; whom a request waits for is among
  /// them. All outlive this; `control` may be null.
  Solo(Replica& replica, const Workload& workload, std::span<const RequestId> requests, RunControl* control)
      : replica_(replica), arrivals_(workload, requests), control_(control) {}

  /// Through everything that happens before `until`. Errors: interrupted (control->stop), simulated time exceeded, a
  /// course that cannot be had.
  Status advance(SimTime until);
  /// Nothing is left to happen.
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

/// A Solo to its end, which the replica is told.
Status run_alone(Replica& replica, const Workload& workload, std::span<const RequestId> requests,
                 RunControl* control);

/// Called now and then with a moment before which all replicas have told everything. Returns how many things that were
/// told wait for such a moment, so that the next one comes in time.
using ToldUntil = std::function<std::int64_t(SimTime)>;

/// Replicas whose requests do not depend on each other, each with its own: `requests`, by replica, as Solo takes them.
/// `told` may be empty. Each replica is advanced by one of `threads` threads at a time, so what replicas share must
/// bear that. The result does not depend on their number. Errors: as Solo::advance.
Status run_apart(std::span<const std::unique_ptr<Replica>> replicas, const Workload& workload,
                 std::span<const std::vector<RequestId>> requests, RunControl* control, const ToldUntil& told,
                 int threads);

/// Told of each request when it arrives, in the order of arrival: how many times the order at that tick has begun
/// before (with steps of no ticks it begins again).
using RoutedTold = std::function<void(std::int64_t round, RequestId request)>;

/// Replicas on one clock.
struct FleetRun {
  const Workload* workload{nullptr};
  std::span<const std::unique_ptr<Replica>> replicas;
  Router* router{nullptr};  ///< says where each request goes when it arrives
  std::vector<std::int32_t>* replica_of{
      nullptr};                  ///< by request, -1 at first; each that arrives gets its replica
  RunControl* control{nullptr};  ///< may be null
  ToldUntil told;                ///< may be empty
  RoutedTold routed;             ///< may be empty
};
/// Runs to the end of the last request. Errors: as Solo::advance.
Status run_together(const FleetRun& run);

}  // namespace kvplan::core
