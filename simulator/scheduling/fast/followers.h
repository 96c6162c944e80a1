// The fast engine's decoding requests that follow courses (course.h), in admission order. What they need and
// read is looked up in their courses, not derived: they are visited once per pass.
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
  /// REQUIRES: the slot decodes and has a course.
  void enter(Slot slot);
  void leave(Slot slot) { std::erase(members_, slot); }

  /// Gathers those whose next token needs an allocation unit at `step`, which next_grant() then hands out.
  void gather_grants(std::int64_t step);
  /// kNoSlot: there is none left.
  Slot next_grant() { return grants_.take(); }

  // Where contents are found by lookups.

  /// Likewise those whose token in this step is the last of a block that can be found from then on: of requests that
  /// have dropped nothing.
  void gather_fills(std::int64_t step, std::int64_t alloc_unit_tokens);
  Slot next_fill() { return fills_.take(); }
  /// Steps from `step` on, at least 1, before the next one in which any of them does so; INT64_MAX if none ever will.
  [[nodiscard]] std::int64_t steps_to_fill(std::int64_t step, std::int64_t alloc_unit_tokens) const;
  /// Does any of them drop a cell at the end of this step, or another rank its first one? `first`: of this rank, too,
  /// only the first one.
  [[nodiscard]] bool drops(std::int64_t step, bool first) const;

  struct Context {
    std::int64_t tokens;  ///< read in this step
    std::int64_t growth;  ///< from each step to the next, as long as steps are alike
  };
  [[nodiscard]] Context context(std::int64_t step) const;
  /// Steps from `step` on that are alike for all of them; INT64_MAX if there are none.
  [[nodiscard]] std::int64_t alike_steps(std::int64_t step) const;

  [[nodiscard]] std::span<const Slot> members() const { return members_; }

 private:
  [[nodiscard]] const SlotState& at(Slot slot) const { return slots_[slot]; }

  const SlotTable& slots_;
  std::vector<Slot> members_;
  /// Told one by one.
  struct Queue {
    std::vector<Slot> slots;
    std::size_t next{0};
    void clear() {
      slots.clear();
      next = 0;
    }
    Slot take() { return next < slots.size() ? slots[next++] : kNoSlot; }
  };
  /// Steps from `step` on, at least 1, before the next one in which the member fills a block.
  [[nodiscard]] std::int64_t steps_to_fill(Slot slot, std::int64_t step,
                                           std::int64_t alloc_unit_tokens) const {
    return alloc_unit_tokens - (step + at(slot).offset + 1) % alloc_unit_tokens;
  }
  Queue grants_, fills_;
};

}  // namespace kvplan::core
