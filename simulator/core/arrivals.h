// When requests arrive: at their own time, or after others have ended (Workload::turns, Workload::clients).
#pragma once

#include <span>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/base/units.h"
#include "simulator/core/least_first.h"
#include "simulator/core/workload.h"

namespace kvplan::core {

/// Arrivals of one replica in order of (time, request). Requests that wait for others become known one by one:
/// call `ended` for every request that ended, in order of time. What an end causes arrives no earlier than the
/// end, so arrivals are taken in ascending order.
class Arrivals {
 public:
  struct Arrival {
    SimTime time;
    RequestId request;
    [[nodiscard]] QueueKey key() const { return queue_key(time.since_start.count, number(request)); }
  };

  /// `requests`: the requests of the replica, in the order that core::Solo expects. They and the workload outlive this
  /// object.
  Arrivals(const Workload& workload, std::span<const RequestId> requests);

  /// Time of the next arrival; later than any time when none is known.
  [[nodiscard]] SimTime next_time() const { return next_.time; }
  [[nodiscard]] bool any() const { return next_.request != kNoRequest; }
  /// Takes the next arrival off the list. REQUIRES: any().
  Arrival take();
  /// The request has finished, or was rejected on arrival.
  void ended(RequestId request, SimTime time);

 private:
  static constexpr Arrival kNone{SimTime{Ticks{INT64_MAX}}, kNoRequest};

  [[nodiscard]] Arrival next_timed() const {
    if (cursor_ == timed_.size()) return kNone;
    return {workload_.arrival[index(timed_[cursor_])], timed_[cursor_]};
  }
  void find_next();
  /// The next request of the list that clients share arrives; none if all were sent.
  void send_next(SimTime time);

  const Workload& workload_;
  std::vector<RequestId> starters_;         // requests that wait for no other, if some requests do wait
  std::span<const RequestId> timed_;        // requests that arrive at their own time
  std::size_t cursor_{0};                   // in timed_
  std::span<const RequestId> shared_list_;  // of the clients
  std::size_t sent_{0};                     // of it
  // by request: number of requests that it waits for and that have not ended
  std::vector<std::int32_t> left_;
  LeastFirst<Arrival> caused_;
  Arrival next_{kNone};
};

}  // namespace kvplan::core
