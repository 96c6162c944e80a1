// The fast engine's decoding requests that follow courses (course.h), in admission order. What they need and
// keep is looked up in their courses, not derived: they are visited once per pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/core/seats.h"

namespace kvplan::core {

class Followers {
 public:
  explicit Followers(const SeatTable& seats) : seats_(seats) {}

  [[nodiscard]] bool empty() const { return members_.empty(); }
  /// REQUIRES: the seat decodes and has a course.
  void enter(Seat seat);
  void leave(Seat seat) { std::erase(members_, seat); }

  /// Gathers those whose next token needs a quantum at `step`, which next_grant() then hands out.
  void gather_grants(std::int64_t step);
  /// kNoSeat: there is none left.
  Seat next_grant() { return next_ < grants_.size() ? grants_[next_++] : kNoSeat; }

  struct Context {
    std::int64_t kept_tokens;  ///< in this step
    std::int64_t growth;       ///< from each step to the next, as long as steps are alike
  };
  [[nodiscard]] Context context(std::int64_t step) const;
  /// Steps from `step` on that are alike for all of them; INT64_MAX if there are none.
  [[nodiscard]] std::int64_t alike_steps(std::int64_t step) const;

  [[nodiscard]] std::span<const Seat> members() const { return members_; }

 private:
  [[nodiscard]] const SeatState& at(Seat seat) const { return seats_[seat]; }

  const SeatTable& seats_;
  std::vector<Seat> members_;
  std::vector<Seat> grants_;
  std::size_t next_{0};  // of them
};

}  // namespace kvplan::core
