// The steps at which decoding requests of the fast engine must be looked at: a heap, in order of step and
// then of admission. What was put in for a request that has left its seat since is skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "simulator/core/seats.h"

namespace kvplan::core {

class DueSteps {
 public:
  explicit DueSteps(const SeatTable& seats) : seats_(seats) {}

  /// The seat as it is now must be looked at when `step` has ended.
  void expect(std::int64_t step, Seat seat) {
    heap_.push({step, seats_[seat].rank, seat, seats_[seat].generation});
  }
  /// The earliest of them; nothing where nobody is expected.
  [[nodiscard]] std::optional<std::int64_t> next() {
    drop_stale();
    if (heap_.empty()) return std::nullopt;
    return heap_.top().step;
  }
  /// REQUIRES: next() has just said a step.
  Seat take() {
    const Seat seat = heap_.top().seat;
    heap_.pop();
    return seat;
  }

 private:
  struct Due {
    std::int64_t step;
    std::int64_t rank;
    Seat seat;
    std::uint32_t generation;
    bool operator>(const Due& other) const {
      return step != other.step ? step > other.step : rank > other.rank;
    }
  };
  void drop_stale() {
    while (!heap_.empty() && seats_[heap_.top().seat].generation != heap_.top().generation) heap_.pop();
  }

  const SeatTable& seats_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> heap_;
};

}  // namespace kvplan::core
