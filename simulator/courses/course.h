// What a token policy with its placement does to the cells and blocks of one request, from an admission to
// its end, token by token.
//
// A cell is one slot of one unit; a unit is what the policy treats alike: a (layer, KV head) pair, a
// whole layer, or all of them at once. Units that drop the same positions share a track. A block id spans all
// units of a table; a request has one table, or one for each layer or KV head (course_of_tables.h). Ranks of a
// deployment share it: what a block holds for another rank is a track without units here, whose cells hold the block
// and are none of this memory's.
//
// "After n tokens" is the end of the step that wrote token n - 1, counted from 0. Nothing is dropped before
// the prompt (or what is recomputed: the tokens that an admission has to compute before it samples one) is
// whole, after `prompt` tokens; nothing is dropped after the last one, since the request ends there.
//
// Placement:
//   holes   token n is written to slot n of every unit; a dropped cell stays where it is
//   reuse   in each track a token takes the lowest slot that is free in a block still held, else the lowest
//           slot never used; a slot is free from the end of the step that dropped its token on
// With both a block comes back when it has neither a kept cell nor one that was never written, and its slots
// are never used again. Contiguous memory returns nothing before the request ends.
//   compact a token is written behind all others; when a block's worth of cells is dropped the survivors move
//           together and the blocks behind them come back from the end of the table (counted_course.h)
// Where tokens are encoded in a format whose bytes depend on what else is stored, cells are bytes, and what a request
// holds follows from those (encoded_course.h).
//
// A course says what follows from this and from the recorded length alone, so all who act on it (engines,
// ledger) agree; tests hold it against a walk over single cells, and replays against memory.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/base/result.h"
#include "simulator/base/units.h"

namespace kvplan::core {

/// Cells of one request by state (see observe/ledger.h). What the layout has beside every live cell goes with live;
/// `metadata` are cells that hold nothing else, of requests whose tokens are encoded (encoded_course.h).
struct HeldCells {
  std::int64_t live{0}, reserved{0}, hole{0}, tail{0}, padding{0}, internal{0}, metadata{0};

  HeldCells& operator+=(const HeldCells& b) { return add(b, 1); }
  HeldCells& operator-=(const HeldCells& b) { return add(b, -1); }
  friend HeldCells operator+(HeldCells a, const HeldCells& b) { return a += b; }
  friend HeldCells operator-(HeldCells a, const HeldCells& b) { return a -= b; }
  friend bool operator==(const HeldCells&, const HeldCells&) = default;
  [[nodiscard]] std::int64_t sum() const {
    return live + reserved + hole + tail + padding + internal + metadata;
  }

 private:
  HeldCells& add(const HeldCells& b, std::int64_t sign) {
    live += sign * b.live;
    reserved += sign * b.reserved;
    hole += sign * b.hole;
    tail += sign * b.tail;
    padding += sign * b.padding;
    internal += sign * b.internal;
    metadata += sign * b.metadata;
    return *this;
  }
};

/// What the policy drops: all that a course is made from. Never changed once it is in use.
class Drops {
 public:
  virtual ~Drops() = default;
  /// Units of each track, 0 where another rank has its cells; their sum, at least 1, is the cells of one token.
  [[nodiscard]] virtual std::span<const std::int32_t> track_units() const = 0;
  /// Positions that a track drops after n tokens, ascending, each at most once. REQUIRES: prompt <= n.
  virtual void dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const = 0;
};

/// Of tokens that come after the prompt, `leave` of each `round` go, as soon as there are `newest` behind the round.
struct Thinning {
  std::int64_t newest{0};  ///< >= 0
  std::int64_t round{1};   ///< >= 1
  std::int64_t leave{0};   ///< < round; 0: all stay

  /// Of so many that came.
  [[nodiscard]] std::int64_t gone(std::int64_t later) const {
    return later < newest ? 0 : (later - newest) / round * leave;
  }
  friend auto operator<=>(const Thinning&, const Thinning&) = default;
};

/// How many tokens stay where nobody knows which; `prompt`: those that an admission computes before it samples one.
struct KeptCount {
  std::int64_t budget{1};  ///< >= 1
  bool once{false};        ///< only the prompt is cut; whatever comes later stays, but for
  Thinning thinning{};     ///< the number goes up and down then. REQUIRES: once, if it leaves any

  /// Of n tokens. REQUIRES: n >= prompt.
  [[nodiscard]] std::int64_t of(std::int64_t n, std::int64_t prompt) const {
    if (once) return (prompt < budget ? prompt : budget) + (n - prompt) - thinning.gone(n - prompt);
    return n < budget ? n : budget;
  }
  friend auto operator<=>(const KeptCount&, const KeptCount&) = default;
};

/// So many units that keep alike.
struct CountedUnits {
  KeptCount kept;
  std::int64_t units{1};
};

/// So many units that keep `kept[i]` of prompt + i tokens each, up to the last after which the request goes on. The
/// number may go up and down.
struct KeptUnits {
  std::vector<std::int64_t> kept;
  std::int64_t units{1};
};

enum class Placement : std::uint8_t { kHoles, kReuse, kCompact };

/// What decides a course. REQUIRES: 1 <= prompt <= final_tokens.
struct CourseShape {
  std::int64_t prompt{1};        ///< tokens computed before the first drop
  std::int64_t final_tokens{1};  ///< written when the request ends
  std::int64_t alloc_unit_tokens{1};
  bool returns_alloc_units{true};  ///< false: contiguous memory, a range granted once
  Placement placement{Placement::kHoles};
  bool reads_holes{false};  ///< does attention read what was dropped, as long as it is held?
};

/// The survivors of a request have moved, in order, into its first `alloc_units` allocation units; those behind, up to
/// `alloc_units_before`, come back from the end of its table. Of several tables the allocation units are those of
/// all, and the survivors those of the tables that gave some back.
struct Compaction {
  /// All survivors, those that stay where they are too. 0: none has moved, what is stored takes less when encoded.
  std::int64_t kept_cells{0};
  std::int64_t alloc_units_before{0};
  std::int64_t alloc_units{0};
};

struct TableRun;

class Course {
 public:
  virtual ~Course() = default;
  /// REQUIRES: the placement is holes or reuse (counted_course.h has the other).
  static std::unique_ptr<const Course> make(const CourseShape& shape, std::shared_ptr<const Drops> drops);

  [[nodiscard]] const CourseShape& shape() const { return shape_; }
  /// Which tokens go. Null: only their number is known (counts), or each table of several has its own.
  [[nodiscard]] virtual const Drops* drops() const { return nullptr; }
  /// Tables of the request in order, neighbours that follow one course together (course_of_tables.h).
  [[nodiscard]] virtual std::vector<TableRun> tables() const;
  /// How many tokens stay, of all units in order, neighbours that keep alike together. Empty: only drops() says it.
  [[nodiscard]] virtual std::span<const CountedUnits> counts() const { return {}; }
  /// Likewise, where the number goes up and down and neither says it.
  [[nodiscard]] virtual std::span<const KeptUnits> kept_by_length() const { return {}; }
  /// Cells of one token.
  [[nodiscard]] std::int64_t units() const { return units_; }
  /// Of these, cells that hold nothing but metadata as soon as the token is written (HeldCells::metadata).
  [[nodiscard]] std::int64_t metadata_units() const { return metadata_units_; }

  /// Slots that the table must reach so that n tokens can be written: what `Allocator::grow` is asked for. Contiguous
  /// memory: those that are written once n tokens are. Of several tables: those of their allocation units, summed.
  [[nodiscard]] virtual std::int64_t table_slots(std::int64_t n) const = 0;
  /// States of the allocation units [first, first + allocation units) granted while the prompt is in work; contiguous
  /// memory: of the whole range.
  [[nodiscard]] virtual HeldCells granted(std::int64_t first, std::int64_t alloc_units) const = 0;

  // REQUIRES for all below: prompt <= n < final_tokens.

  /// All held cells after n tokens, when blocks have been let go.
  [[nodiscard]] virtual HeldCells settled(std::int64_t n) const = 0;
  /// Cells of the allocation unit that is granted so that token n can be written, or of those of several tables, or
  /// of what is encoded at the end of that step; none where it needs no allocation unit.
  [[nodiscard]] virtual HeldCells grant(std::int64_t n) const = 0;
  /// Logical blocks let go after n tokens, highest first; their places in the table stay, empty.
  [[nodiscard]] virtual std::span<const std::int32_t> freed_entries(std::int64_t /*n*/) const { return {}; }
  /// Compact, encoded: what is moved after n tokens, and the blocks that come back by it.
  [[nodiscard]] virtual std::optional<Compaction> compaction(std::int64_t /*n*/) const { return {}; }
  /// Does any block come back after n tokens?
  [[nodiscard]] bool returns_blocks(std::int64_t n) const {
    return !freed_entries(n).empty() || compaction(n);
  }
  /// By what all held cells are more than settled(n) at the end of that step, before any block comes back. Where
  /// nothing moves these are the cells of the blocks that do: all `hole`, or all `internal`. Where survivors move, what
  /// is dropped is `hole` until then, and cells behind it are awaited that are not afterwards: a state may be less.
  [[nodiscard]] virtual HeldCells returned_cells(std::int64_t n) const = 0;
  /// Tokens whose cells are read by the next one: kept cells, with `reads_holes` holes too, by units, rounded up. A
  /// dropped cell that a later token will take (placement reuse) is not read. Of encoded tokens: as many as would take
  /// the bytes that are read.
  [[nodiscard]] std::int64_t read_tokens(std::int64_t n) const {
    const HeldCells cells = settled(n);
    return ceil_div(cells.live + cells.metadata + (shape_.reads_holes ? cells.hole : 0), units_);
  }
  /// Cells dropped by the end of the step that wrote token n - 1.
  [[nodiscard]] virtual std::int64_t dropped_cells(std::int64_t n) const {
    return units_ * n - settled(n).live;
  }
  /// Has any cell been dropped by then, of this rank or another? Where survivors move nobody asks of other ranks.
  [[nodiscard]] virtual bool has_dropped(std::int64_t n) const { return dropped_cells(n) > 0; }
  /// Steps from the one that writes token n on that are alike: in each of them all states and read_tokens
  /// change by what they change in the first, by at most one token read, and nothing is granted or comes back
  /// before the last one's end; no rank drops its first cell in any but the first. At least 1; none goes past the last
  /// token.
  [[nodiscard]] virtual std::int64_t alike_steps(std::int64_t n) const = 0;

 protected:
  Course(const CourseShape& shape, std::int64_t units, std::int64_t metadata_units = 0)
      : shape_(shape), units_(units), metadata_units_(metadata_units) {}
  CourseShape shape_;
  std::int64_t units_;
  std::int64_t metadata_units_;
};

/// So many tables in a row, each of which follows this course; valid as long as the course that was asked.
struct TableRun {
  const Course* course{nullptr};
  std::int64_t tables{1};
};
inline std::vector<TableRun> Course::tables() const {
  return {{this, 1}};
}

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
