// The steps at which decoding requests of the fast engine must be looked at: a queue, in order of step and
// then of admission. What was put in for a request that has left its seat since is skipped.
#pragma once

#include <cstdint>
#include <optional>

#include "simulator/core/least_first.h"
#include "simulator/core/seats.h"

namespace kvplan::core {

class DueSteps {
 public:
  explicit DueSteps(const SeatTable& seats) : seats_(seats) {}

  /// The seat as it is now must be looked at when `step` has ended.
  void expect(std::int64_t step, Seat seat) {
    queue_.put({step, seats_[seat].rank, seat, seats_[seat].generation});
  }
  /// The earliest of them; nothing where nobody is expected.
  [[nodiscard]] std::optional<std::int64_t> next() {
    drop_stale();
    if (queue_.empty()) return std::nullopt;
    return queue_.least().step;
  }
  /// Must anybody be looked at when `step` has ended? REQUIRES: nobody who still has a seat is expected before it.
  [[nodiscard]] bool due(std::int64_t step) {
    while (!queue_.empty() && queue_.least().step <= step) {
      if (!stale(queue_.least())) return true;
      queue_.take();
    }
    return false;
  }
  /// REQUIRES: next() has just said a step, or due() that somebody is.
  Seat take() { return queue_.take().seat; }

 private:
  struct Due {
    std::int64_t step;
    std::int64_t rank;
    Seat seat;
    std::uint32_t generation;
    [[nodiscard]] QueueKey key() const { return queue_key(step, rank); }
  };
  [[nodiscard]] bool stale(const Due& due) const { return seats_[due.seat].generation != due.generation; }
  void drop_stale() {
    while (!queue_.empty() && stale(queue_.least())) queue_.take();
  }

  const SeatTable& seats_;
  LeastFirst<Due> queue_;
};

}  // namespace kvplan::core
