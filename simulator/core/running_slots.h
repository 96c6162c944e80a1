// Book-keeping of the fast engine: the running list, and its decoding members by their place in the block
// cycle.
//
// A seat is the place of one running request. Seats form the running list in order of admission. While a
// request decodes it holds (step + offset) tokens, so it needs a block at the steps that are (-offset) modulo
// the block: its phase. The members of each phase form a list, again in order of admission, and bit sets say
// which lists have members, so that the next step at which anything is needed is found without a walk.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/units.h"

namespace kvplan::core {

class Course;
using Seat = std::int32_t;
inline constexpr Seat kNoSeat = -1;

struct SeatState {
  RequestId request{0};
  std::int64_t rank{0};      ///< order of admission
  std::int64_t offset{0};    ///< decoding: tokens held = step + offset
  std::int64_t computed{0};  ///< before that: tokens held
  std::int64_t goal{0};      ///< before that: tokens to compute until a token is sampled
  std::int32_t phase{-1};
  std::uint32_t generation{0};  ///< counts the seat's uses: tells stale references
  Seat run_prev{kNoSeat}, run_next{kNoSeat};
  Seat phase_prev{kNoSeat}, phase_next{kNoSeat};
  bool decoding{false};
  bool sliding{false};  ///< has dropped a cell: loses one with every token
  std::int32_t windows_full{
      0};  ///< decoding: of the windows, the smallest first, holds as many tokens as they show
  const Course* course{nullptr};
};

class SeatTable {
 public:
  SeatState& operator[](Seat seat) { return seats_[static_cast<std::size_t>(seat)]; }
  const SeatState& operator[](Seat seat) const { return seats_[static_cast<std::size_t>(seat)]; }
  [[nodiscard]] Seat youngest() const { return tail_; }
  /// Of two seats, either of which may be none, the one that was admitted first.
  [[nodiscard]] Seat eldest(Seat a, Seat b) const {
    if (a == kNoSeat || b == kNoSeat) return a == kNoSeat ? b : a;
    return (*this)[a].rank <= (*this)[b].rank ? a : b;
  }
  [[nodiscard]] std::int64_t running() const { return running_; }
  [[nodiscard]] std::int64_t next_rank() const { return next_rank_; }

  /// A seat at the end of the running list. References to seats are invalid afterwards.
  Seat open(RequestId request);
  /// Leaves the running list; the seat may be opened again. REQUIRES: it is in no phase list.
  void close(Seat seat);

 private:
  std::vector<SeatState> seats_;
  std::vector<Seat> free_;
  Seat head_{kNoSeat}, tail_{kNoSeat};
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
  [[nodiscard]] Seat first(std::int64_t step) const {
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
  void enter(SeatTable& seats, Seat seat);
  void leave(SeatTable& seats, Seat seat);

  /// Steps from `step` to the next later one whose list has a member, at most the period; 0 if all are empty.
  [[nodiscard]] std::int64_t steps_to_members(std::int64_t step) const { return next(filled_, step); }
  /// The same for lists with a sliding member.
  [[nodiscard]] std::int64_t steps_to_sliding(std::int64_t step) const { return next(sliding_filled_, step); }

 private:
  using Bits = std::vector<std::uint64_t>;
  [[nodiscard]] std::int64_t next(const Bits& bits, std::int64_t step) const;
  void count_sliding(std::size_t phase, std::int32_t by);

  std::int64_t period_;
  std::vector<Seat> head_, tail_;
  std::vector<std::int32_t> count_;    // members of each list
  std::int64_t all_{0};                // and of all
  std::vector<std::int32_t> sliding_;  // sliding members of each list
  Bits filled_, sliding_filled_;       // one bit per list
};

}  // namespace kvplan::core
