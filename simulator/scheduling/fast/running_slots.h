// Book-keeping of the fast engine: the running list, and its decoding members by their place in the block
// cycle.
//
// A running slot is the place of one running request. Slots form the running list in order of admission. While a
// request decodes it holds (step + offset) tokens, so it needs a block at the steps that are (-offset) modulo
// the block: its phase. The members of each phase form a list, again in order of admission, and bit sets say
// which lists have members, so that the next step at which anything is needed is found without a walk.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/base/units.h"

namespace kvplan {
namespace core {
/// Position among the running slots, 0-based; used again by another request when its own has left.
enum class Slot : std::int32_t {};
inline constexpr Slot kNoSlot{-1};
}  // namespace core
template <>
inline constexpr bool kIsId<core::Slot> = true;
}  // namespace kvplan

namespace kvplan::core {

class Course;

/// What a decoding request is asked about from step to step fills one cache line.
struct alignas(64) SlotState {
  RequestId request{0};
  std::int32_t phase{-1};
  std::int64_t rank{0};    ///< order of admission
  std::int64_t offset{0};  ///< decoding: tokens held = step + offset
  Slot phase_prev{kNoSlot}, phase_next{kNoSlot};
  Slot run_prev{kNoSlot}, run_next{kNoSlot};
  std::uint32_t generation{0};  ///< counts the slot's uses: tells stale references
  bool decoding{false};
  bool sliding{false};            ///< has dropped a cell: without a course it loses one with every token
  const Course* course{nullptr};  ///< what it follows, if it follows one
  std::int64_t computed{0};       ///< before it decodes: tokens held

  std::int64_t goal{0};        ///< before it decodes: tokens to compute until a token is sampled
  std::int64_t windows_at{0};  ///< tokens held when blocks were last given back that windows had left
  /// Decoding: of the windows, the smallest first, holds as many tokens as they show
  std::int32_t windows_full{0};
  std::uint8_t read_in_part{0};  ///< decoding: how it is read (part_reads.h)
};

class SlotTable {
 public:
  SlotState& operator[](Slot slot) { return slots_[index(slot)]; }
  const SlotState& operator[](Slot slot) const { return slots_[index(slot)]; }
  [[nodiscard]] Slot youngest() const { return tail_; }
  /// Of two slots, either of which may be none, the one that was admitted first.
  [[nodiscard]] Slot eldest(Slot a, Slot b) const {
    if (a == kNoSlot || b == kNoSlot) return a == kNoSlot ? b : a;
    return (*this)[a].rank <= (*this)[b].rank ? a : b;
  }
  [[nodiscard]] std::int64_t running() const { return running_; }
  [[nodiscard]] std::int64_t next_rank() const { return next_rank_; }

  /// A slot at the end of the running list. References to slots are invalid afterwards.
  Slot open(RequestId request);
  /// Leaves the running list; the slot may be opened again. REQUIRES: it is in no phase list.
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
  /// `period` >= 1: steps after which every phase has come round.
  explicit PhaseLists(std::int64_t period);

  [[nodiscard]] std::int64_t phase_of(std::int64_t step) const {
    // Most periods are powers of two: no division.
    return (period_ & (period_ - 1)) == 0 ? step & (period_ - 1) : ((step % period_) + period_) % period_;
  }
  /// First member, by admission, of those that hold a multiple of the period at `step`.
  [[nodiscard]] Slot first(std::int64_t step) const {
    return head_[static_cast<std::size_t>(phase_of(step))];
  }
  /// How many those are.
  [[nodiscard]] std::int64_t members(std::int64_t step) const {
    return count_[static_cast<std::size_t>(phase_of(step))];
  }
  /// Of the `steps` steps behind `step`, summed. REQUIRES: steps >= 0.
  [[nodiscard]] std::int64_t members_within(std::int64_t step, std::int64_t steps) const;
  /// Steps behind `step` until more than `room` members have come, at most `most`. REQUIRES: there are members.
  [[nodiscard]] std::int64_t steps_to_more(std::int64_t step, std::int64_t room, std::int64_t most) const;
  void enter(SlotTable& slots, Slot slot);
  void leave(SlotTable& slots, Slot slot);

  /// Steps from `step` to the next later one whose list has a member, at most the period; 0 if all are empty.
  [[nodiscard]] std::int64_t steps_to_members(std::int64_t step) const { return next(filled_, step); }
  /// The same for lists with a sliding member.
  [[nodiscard]] std::int64_t steps_to_sliding(std::int64_t step) const { return next(sliding_filled_, step); }

 private:
  using Bits = std::vector<std::uint64_t>;
  [[nodiscard]] std::int64_t next(const Bits& bits, std::int64_t step) const;
  void count_sliding(std::size_t phase, std::int32_t by);

  std::int64_t period_;
  std::vector<Slot> head_, tail_;
  std::vector<std::int32_t> count_;    // members of each list
  std::int64_t all_{0};                // and of all
  std::vector<std::int32_t> sliding_;  // sliding members of each list
  Bits filled_, sliding_filled_;       // one bit per list
};

}  // namespace kvplan::core
