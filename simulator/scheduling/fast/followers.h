// The fast engine's decoding requests that follow courses (course.h), in admission order. Their needs and reads come
// from their courses, not from sums, so each of them is visited once per scheduler step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/scheduling/fast/running_slots.h"

namespace kvplan::core {

class Followers {
 public:
  explicit Followers(const SlotTable& slots) : slots_(slots) {}

  [[nodiscard]] bool empty() const { return members_.empty(); }
  /// Adds a request. REQUIRES: the slot decodes and has a course.
  void enter(Slot slot);
  void leave(Slot slot) { std::erase(members_, slot); }

  /// Collects the slots that need an allocation unit for their next token at `step`; next_grant() returns them one by
  /// one.
  void gather_grants(std::int64_t step);
  /// kNoSlot: none is left.
  Slot next_grant() { return grants_.take(); }

  // For runs in which prefix lookups find blocks of requests with courses.

  /// Collects the slots that complete, with their token of this step, a block that lookups can hit from then on; only
  /// requests that have dropped nothing. next_fill() returns them one by one.
  void gather_fills(std::int64_t step, std::int64_t alloc_unit_tokens);
  Slot next_fill() { return fills_.take(); }
  /// Steps from `step` on, at least 1, before the next step in which any request completes such a block; INT64_MAX if
  /// none ever will.
  [[nodiscard]] std::int64_t steps_to_fill(std::int64_t step, std::int64_t alloc_unit_tokens) const;
  /// Does any request drop a cell at the end of this step, or its first cell on another rank? `first`: on this rank,
  /// too, only first cells count.
  [[nodiscard]] bool drops(std::int64_t step, bool first) const;

  struct Context {
    std::int64_t tokens;  ///< tokens read in this step
    std::int64_t growth;  ///< growth from each step to the next, as long as steps are alike
  };
  [[nodiscard]] Context context(std::int64_t step) const;
  /// Number of steps from `step` on that are alike for all these requests; INT64_MAX if there are no requests.
  [[nodiscard]] std::int64_t alike_steps(std::int64_t step) const;

  [[nodiscard]] std::span<const Slot> members() const { return members_; }

 private:
  [[nodiscard]] const SlotState& at(Slot slot) const { return slots_[slot]; }

  const SlotTable& slots_;
  std::vector<Slot> members_;
  /// Slots that are taken one by one.
  struct Queue {
    std::vector<Slot> slots;
    std::size_t next{0};
    void clear() {
      slots.clear();
      next = 0;
    }
    Slot take() { return next < slots.size() ? slots[next++] : kNoSlot; }
  };
  /// Steps from `step` on, at least 1, before the next step in which this request completes a block.
  [[nodiscard]] std::int64_t steps_to_fill(Slot slot, std::int64_t step,
                                           std::int64_t alloc_unit_tokens) const {
    return alloc_unit_tokens - (step + at(slot).offset + 1) % alloc_unit_tokens;
  }
  Queue grants_, fills_;
};

}  // namespace kvplan::core
