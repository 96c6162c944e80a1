// When requests arrive: at their own times, or after others have ended (Workload::turns).
#pragma once

#include <span>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/base/units.h"
#include "simulator/core/least_first.h"
#include "simulator/core/workload.h"

namespace kvplan::core {

/// Arrivals of one replica in order of (time, request). Those that wait for others become known one by one:
/// `ended` is to be told of every request that ended, in order of time; what it causes arrives no earlier than
/// that, so the order of what is taken never goes back.
class Arrivals {
 public:
  struct Arrival {
    SimTime time;
    RequestId request;
    [[nodiscard]] QueueKey key() const { return queue_key(time.since_start.count, number(request)); }
  };

  /// `requests`: those of the replica, as core::Solo takes them; they outlive this, as the workload does.
  Arrivals(const Workload& workload, std::span<const RequestId> requests);

  /// Of the next arrival; beyond all times when none is known.
  [[nodiscard]] SimTime next_time() const { return next_.time; }
  [[nodiscard]] bool any() const { return next_.request != kNoRequest; }
  /// The next arrival, which is over then. REQUIRES: any().
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

  const Workload& workload_;
  std::vector<RequestId> starters_;   // those that wait for nobody, where somebody waits
  std::span<const RequestId> timed_;  // arrive by their own time
  std::size_t cursor_{0};             // in timed_
  std::vector<std::int32_t> left_;    // by request: how many of those it waits for have not ended
  LeastFirst<Arrival> caused_;
  Arrival next_{kNone};
};

}  // namespace kvplan::core
