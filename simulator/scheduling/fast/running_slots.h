// Book-keeping of the fast engine: the running list, and its decoding requests sorted by when they need their next
// block.
//
// A slot stands for one running request. Slots form the running list in order of admission. A decoding request holds
// (step + offset) tokens, so it needs a block at the steps that are congruent to -offset modulo the block size: its
// phase. The requests of each phase form a list, again in order of admission. Bit sets say which lists are not empty,
// so that the next step at which any request needs a block is found without visiting the requests.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/base/units.h"

namespace kvplan {
namespace core {
/// Position among the running slots, 0-based; reused for another request when its request has left.
enum class Slot : std::int32_t {};
inline constexpr Slot kNoSlot{-1};
}  // namespace core
template <>
inline constexpr bool kIsId<core::Slot> = true;
}  // namespace kvplan

namespace kvplan::core {

class Course;

/// State of a running request. The fields that decode steps use fill one cache line.
struct alignas(64) SlotState {
  RequestId request{0};
  std::int32_t phase{-1};
  std::int64_t rank{0};    ///< order of admission
  std::int64_t offset{0};  ///< decoding: tokens held = step + offset
  Slot phase_prev{kNoSlot}, phase_next{kNoSlot};
  Slot run_prev{kNoSlot}, run_next{kNoSlot};
  std::uint32_t generation{0};  ///< counts the slot's uses, to recognize stale references
  bool decoding{false};
  bool sliding{false};  ///< has dropped a cell; without a course it drops one with every token from then on
  const Course* course{nullptr};  ///< the course that it follows, or null
  std::int64_t computed{0};       ///< tokens held, before it decodes

  std::int64_t goal{0};        ///< tokens to compute until a token is sampled, before it decodes
  std::int64_t windows_at{0};  ///< tokens held when blocks that had left a window were last freed
  /// Decoding: number of windows, from the smallest, that are full (window_sums.h).
  std::int32_t windows_full{0};
  std::uint8_t read_in_part{0};  ///< decoding: which reading rules apply to it (part_reads.h)
};

class SlotTable {
 public:
  SlotState& operator[](Slot slot) { return slots_[index(slot)]; }
  const SlotState& operator[](Slot slot) const { return slots_[index(slot)]; }
  [[nodiscard]] Slot youngest() const { return tail_; }
  /// The slot that was admitted first, of two; either may be kNoSlot.
  [[nodiscard]] Slot eldest(Slot a, Slot b) const {
    if (a == kNoSlot || b == kNoSlot) return a == kNoSlot ? b : a;
    return (*this)[a].rank <= (*this)[b].rank ? a : b;
  }
  [[nodiscard]] std::int64_t running() const { return running_; }
  [[nodiscard]] std::int64_t next_rank() const { return next_rank_; }

  /// Adds a slot at the end of the running list. References to slots are invalid afterwards.
  Slot open(RequestId request);
  /// Removes the slot from the running list; it may be opened again. REQUIRES: it is in no phase list.
  void close(Slot slot);

 private:
  std::vector<SlotState> slots_;
  std::vector<Slot> free_;
  Slot head_{kNoSlot}, tail_{kNoSlot};
  std::int64_t running_{0};
  std::int64_t next_rank_{0};
};

class PhaseLists {
 public:
  /// `period` >= 1: number of phases, in steps.
  explicit PhaseLists(std::int64_t period);

  [[nodiscard]] std::int64_t phase_of(std::int64_t step) const {
    // Most periods are powers of two: no division.
    return (period_ & (period_ - 1)) == 0 ? step & (period_ - 1) : ((step % period_) + period_) % period_;
  }
  /// The first request, by admission, with a token count at `step` that is a multiple of the period.
  [[nodiscard]] Slot first(std::int64_t step) const {
    return head_[static_cast<std::size_t>(phase_of(step))];
  }
  /// Number of such requests.
  [[nodiscard]] std::int64_t members(std::int64_t step) const {
    return count_[static_cast<std::size_t>(phase_of(step))];
  }
  /// Number of such requests, summed over the `steps` steps after `step`. REQUIRES: steps >= 0.
  [[nodiscard]] std::int64_t members_within(std::int64_t step, std::int64_t steps) const;
  /// Steps after `step` until the number of such requests, summed over the steps, exceeds `room`; at most `most`.
  /// REQUIRES: the lists are not all empty.
  [[nodiscard]] std::int64_t steps_to_more(std::int64_t step, std::int64_t room, std::int64_t most) const;
  void enter(SlotTable& slots, Slot slot);
  void leave(SlotTable& slots, Slot slot);

  /// Steps from `step` to the next later step with a list that is not empty, at most the period; 0 if all lists are
  /// empty.
  [[nodiscard]] std::int64_t steps_to_members(std::int64_t step) const { return next(filled_, step); }
  /// The same for lists with a sliding request.
  [[nodiscard]] std::int64_t steps_to_sliding(std::int64_t step) const { return next(sliding_filled_, step); }

 private:
  using Bits = std::vector<std::uint64_t>;
  [[nodiscard]] std::int64_t next(const Bits& bits, std::int64_t step) const;
  void count_sliding(std::size_t phase, std::int32_t by);

  std::int64_t period_;
  std::vector<Slot> head_, tail_;
  std::vector<std::int32_t> count_;    // members of each list
  std::int64_t all_{0};                // members of all lists
  std::vector<std::int32_t> sliding_;  // sliding requests in each list
  Bits filled_, sliding_filled_;       // one bit per list
};

}  // namespace kvplan::core
