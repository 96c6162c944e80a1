// The fast engine's decoding requests that follow courses (course.h), in admission order. What they need and
// read is looked up in their courses, not derived: they are visited once per pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/core/running_slots.h"

namespace kvplan::core {

class Followers {
 public:
  explicit Followers(const SlotTable& slots) : slots_(slots) {}

  [[nodiscard]] bool empty() const { return members_.empty(); }
  /// REQUIRES: the slot decodes and has a course.
  void enter(Slot slot);
  void leave(Slot slot) { std::erase(members_, slot); }

  /// Gathers those whose next token needs a quantum at `step`, which next_grant() then hands out.
  void gather_grants(std::int64_t step);
  /// kNoSlot: there is none left.
  Slot next_grant() { return next_ < grants_.size() ? grants_[next_++] : kNoSlot; }

  // Where contents are found by lookups.

  /// Likewise those whose token in this step is the last of a block that can be found from then on: of requests that
  /// have dropped nothing.
  void gather_fills(std::int64_t step, std::int64_t quantum_tokens);
  Slot next_fill() { return next_fill_ < fills_.size() ? fills_[next_fill_++] : kNoSlot; }
  /// Steps from `step` on, at least 1, before the next one in which any of them does so; INT64_MAX if none ever will.
  [[nodiscard]] std::int64_t steps_to_fill(std::int64_t step, std::int64_t quantum_tokens) const;
  /// Does any of them drop a cell at the end of this step?
  [[nodiscard]] bool drops(std::int64_t step) const;

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
  std::vector<Slot> grants_;
  std::size_t next_{0};  // of them
  std::vector<Slot> fills_;
  std::size_t next_fill_{0};
};

}  // namespace kvplan::core
