// The steps at which decoding requests of the fast engine need attention: a queue ordered by step, then by admission.
// Entries are skipped if their request has left its slot in the meantime.
#pragma once

#include <cstdint>
#include <optional>

#include "simulator/core/least_first.h"
#include "simulator/scheduling/fast/running_slots.h"

namespace kvplan::core {

class DueSteps {
 public:
  explicit DueSteps(const SlotTable& slots) : slots_(slots) {}

  /// Adds an entry: the request now in the slot must be visited when `step` has ended.
  void expect(std::int64_t step, Slot slot) {
    queue_.put({step, slots_[slot].rank, slot, slots_[slot].generation});
  }
  /// The earliest entry's step; nothing if there is no entry.
  [[nodiscard]] std::optional<std::int64_t> next() {
    drop_stale();
    if (queue_.empty()) return std::nullopt;
    return queue_.least().step;
  }
  /// Must any request be visited when `step` has ended? REQUIRES: no valid entry is of an earlier step.
  [[nodiscard]] bool due(std::int64_t step) {
    while (!queue_.empty() && queue_.least().step <= step) {
      if (!stale(queue_.least())) return true;
      queue_.take();
    }
    return false;
  }
  /// REQUIRES: next() has just returned a step, or due() true.
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
