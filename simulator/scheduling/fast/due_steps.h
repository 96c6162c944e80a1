// The steps at which decoding requests of the fast engine must be looked at: a queue, in order of step and
// then of admission. What was put in for a request that has left its slot since is skipped.
#pragma once

#include <cstdint>
#include <optional>

#include "simulator/core/least_first.h"
#include "simulator/scheduling/fast/running_slots.h"

namespace kvplan::core {

class DueSteps {
 public:
  explicit DueSteps(const SlotTable& slots) : slots_(slots) {}

  /// The slot as it is now must be looked at when `step` has ended.
  void expect(std::int64_t step, Slot slot) {
    queue_.put({step, slots_[slot].rank, slot, slots_[slot].generation});
  }
  /// The earliest of them; nothing where nobody is expected.
  [[nodiscard]] std::optional<std::int64_t> next() {
    drop_stale();
    if (queue_.empty()) return std::nullopt;
    return queue_.least().step;
  }
  /// Must anybody be looked at when `step` has ended? REQUIRES: nobody who still has a slot is expected before it.
  [[nodiscard]] bool due(std::int64_t step) {
    while (!queue_.empty() && queue_.least().step <= step) {
      if (!stale(queue_.least())) return true;
      queue_.take();
    }
    return false;
  }
  /// REQUIRES: next() has just said a step, or due() that somebody is.
  Slot take() { return queue_.take().slot; }

 private:
  struct Due {
    std::int64_t step;
    std::int64_t rank;
    Slot slot;
    std::uint32_t generation;
    [[nodiscard]] QueueKey key() const { return queue_key(step, rank); }
  };
  [[nodiscard]] bool stale(const Due& due) const { return slots_[due.slot].generation != due.generation; }
  void drop_stale() {
    while (!queue_.empty() && stale(queue_.least())) queue_.take();
  }

  const SlotTable& slots_;
  LeastFirst<Due> queue_;
};

}  // namespace kvplan::core
