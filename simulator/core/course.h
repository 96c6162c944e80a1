// What a token policy with its placement does to the cells and blocks of one request, from an admission to
// its end, token by token.
//
// A cell is one slot of one unit; a unit is what the policy treats alike: a (layer, stored head) pair, a
// whole layer, or all of them at once. Units that drop the same positions share a track. A block id spans all
// units.
//
// "After n tokens" is the end of the step that wrote token n - 1, counted from 0. Nothing is dropped before
// the prompt (or what is recomputed: the tokens that an admission has to compute before it samples one) is
// whole, after `prompt` tokens; nothing is dropped after the last one, since the request ends there.
//
// Placement:
//   holes   token n is written to slot n of every unit; a dropped cell stays where it is
//   reuse   in each track a token takes the lowest slot that is free in a block still held, else the lowest
//           slot never used; a slot is free from the end of the step that dropped its token on
// Either way a block comes back when it has neither a kept cell nor one that was never written, and its slots
// are never used again. Contiguous memory returns nothing before the request ends.
//
// A course says what follows from this and from the recorded length alone, so all who act on it (engines,
// ledger) agree; tests hold it against a walk over single cells, and replays against memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/base/units.h"

namespace kvplan::core {

/// Cells of one request by state (see observe/ledger.h; metadata goes with live).
struct HeldCells {
  std::int64_t live{0}, reserved{0}, hole{0}, tail{0}, padding{0}, internal{0};

  HeldCells& operator+=(const HeldCells& b) { return add(b, 1); }
  HeldCells& operator-=(const HeldCells& b) { return add(b, -1); }
  friend HeldCells operator+(HeldCells a, const HeldCells& b) { return a += b; }
  friend HeldCells operator-(HeldCells a, const HeldCells& b) { return a -= b; }
  friend bool operator==(const HeldCells&, const HeldCells&) = default;
  [[nodiscard]] std::int64_t sum() const { return live + reserved + hole + tail + padding + internal; }

 private:
  HeldCells& add(const HeldCells& b, std::int64_t sign) {
    live += sign * b.live;
    reserved += sign * b.reserved;
    hole += sign * b.hole;
    tail += sign * b.tail;
    padding += sign * b.padding;
    internal += sign * b.internal;
    return *this;
  }
};

/// What the policy drops: all that a course is made from. Never changed once it is in use.
class Drops {
 public:
  virtual ~Drops() = default;
  /// Units of each track; their sum is the cells of one token.
  [[nodiscard]] virtual std::span<const std::int32_t> track_units() const = 0;
  /// Positions that a track drops after n tokens, ascending, each at most once. REQUIRES: prompt <= n.
  virtual void dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const = 0;
};

enum class Placement : std::uint8_t { kHoles, kReuse };

/// What decides a course. REQUIRES: 1 <= prompt <= final_tokens.
struct CourseShape {
  std::int64_t prompt{1};        ///< tokens computed before the first drop
  std::int64_t final_tokens{1};  ///< written when the request ends
  std::int64_t quantum_tokens{1};
  bool returns_quanta{true};  ///< false: contiguous memory, a range granted once
  Placement placement{Placement::kHoles};
};

class Course {
 public:
  static std::unique_ptr<const Course> make(const CourseShape& shape, std::shared_ptr<const Drops> drops);

  [[nodiscard]] const CourseShape& shape() const { return shape_; }
  [[nodiscard]] const Drops& drops() const { return *drops_; }
  /// Cells of one token.
  [[nodiscard]] std::int64_t units() const { return units_; }

  /// Slots that the table must reach so that n tokens can be written: what `Allocator::grow` is asked for. Contiguous
  /// memory: those that are written once n tokens are.
  [[nodiscard]] std::int64_t table_slots(std::int64_t n) const {
    return n <= shape_.prompt ? n : after_[at(n - 1)].slots_of_next;
  }
  /// States of the quanta [first, first + quanta) granted while the prompt is in work; contiguous memory: of
  /// the whole range.
  [[nodiscard]] HeldCells granted(std::int64_t first, std::int64_t quanta) const;

  // REQUIRES for all below: prompt <= n < final_tokens.

  /// All held cells after n tokens, when blocks have been let go.
  [[nodiscard]] const HeldCells& settled(std::int64_t n) const { return after_[at(n)].settled; }
  /// Cells of the quantum that is granted so that token n can be written; none where it needs no quantum.
  [[nodiscard]] HeldCells grant(std::int64_t n) const;
  /// Logical blocks let go after n tokens, highest first.
  [[nodiscard]] std::span<const std::int32_t> let_go(std::int64_t n) const;
  /// States in which the cells of those blocks are until they are let go: all `hole`, or all `internal`.
  [[nodiscard]] HeldCells let_go_cells(std::int64_t n) const;
  /// Tokens whose cells are read by the next one: kept cells by units, rounded up.
  [[nodiscard]] std::int64_t kept_tokens(std::int64_t n) const { return ceil_div(settled(n).live, units_); }
  /// Steps from the one that writes token n on that are alike: in each of them all states and kept_tokens
  /// change by what they change in the first, by at most one kept token, and nothing is granted or let go
  /// before the last one's end. At least 1; none goes past the last token.
  [[nodiscard]] std::int64_t alike_steps(std::int64_t n) const { return after_[at(n)].alike; }

 private:
  class Holes;
  class Reuse;
  struct After {
    HeldCells settled;
    std::int64_t slots_of_next{0};
    std::int32_t alike{1};
    std::int32_t let_go_begin{0}, let_go_end{0};
    std::int64_t grant_reserved{0}, grant_padding{0};  ///< the rest of a granted quantum is tail
  };
  Course(const CourseShape& shape, std::shared_ptr<const Drops> drops);
  [[nodiscard]] std::size_t at(std::int64_t n) const { return static_cast<std::size_t>(n - shape_.prompt); }
  void find_alike_steps();

  CourseShape shape_;
  std::shared_ptr<const Drops> drops_;
  std::int64_t units_{0};
  std::vector<After> after_;  ///< [n - prompt]
  std::vector<std::int32_t> let_go_;
  std::int64_t awaited_behind_prompt_{0};  ///< cells behind the prompt in its last block that will be written
  HeldCells range_;                        ///< contiguous: slots [0, final_tokens) when granted
};

/// Where a run gets its courses: one per admission of each request.
class CourseSource {
 public:
  virtual ~CourseSource() = default;
  /// The course of an admission that computes `prompt` tokens before it samples one; valid until `end` or the
  /// next `begin` for this request. Errors: a recording that cannot be read.
  virtual Result<const Course*> begin(RequestId request, std::int64_t prompt) = 0;
  virtual void end(RequestId request) = 0;
};

}  // namespace kvplan::core
