// A course: the retention schedule of one request. It says what a token policy with its placement does to the cells and
// blocks of the request, token by token, from an admission to the request's end.
//
// A cell is one KV slot of one unit. A unit is what the policy treats as a whole: a (layer, KV head) pair, a whole
// layer, or all layers. Units that drop the same positions form a track. A block id covers all units of a table; a
// request has one table, or one for each layer or KV head (course_of_tables.h). The ranks of a deployment share the
// table: a track without units on this rank belongs to another rank only. Its cells keep blocks from being freed, but
// take no memory on this rank.
//
// "After n tokens" is the end of the step that wrote token n - 1, counted from 0. Nothing is dropped before the prompt
// (or what is recomputed: the tokens that an admission computes before it samples) is complete, which is after `prompt`
// tokens. Nothing is dropped after the last token, since the request ends there.
//
// Placement:
//   holes   token n is written to slot n of every unit; a dropped cell stays where it is
//   reuse   in each track a token takes the lowest slot that is free in a block still held, else the lowest
//           slot never used; a slot is free from the end of the step that dropped its token
// With both, a block is freed when it has neither a kept cell nor one that was never written, and its slots
// are never used again. Contiguous memory frees nothing before the request ends.
//   compact a token is written behind all others; when a block's worth of cells is dropped, the survivors move
//           together, and the blocks behind them are freed from the end of the table (counted_course.h)
// For formats in which the bytes of a token depend on the other stored tokens, a cell is a byte, and the request holds
// as many cells as its encoded tokens have bytes (encoded_course.h).
//
// A course depends only on these rules and on the recorded length, so all its users (engines, ledger) agree. Tests
// compare it with a walk over single cells, and replays compare it with memory.
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

/// Cells of one request by state (see observe/ledger.h). Metadata that the layout adds to every live cell counts as
/// live; `metadata` counts cells that hold only metadata, in requests with encoded tokens (encoded_course.h).
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

/// The positions that the policy drops: all that a course needs to know of it. Never changed once it is in use.
class Drops {
 public:
  virtual ~Drops() = default;
  /// Units of each track, 0 if its cells are on another rank. Their sum, at least 1, is the number of cells of a
  /// token.
  [[nodiscard]] virtual std::span<const std::int32_t> track_units() const = 0;
  /// Appends the positions that a track drops after n tokens, ascending; each position is dropped at most once.
  /// REQUIRES: prompt <= n.
  virtual void dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const = 0;
};

/// The policy drops `leave` of each `round` tokens after the prompt, as soon as `newest` tokens follow that round.
struct Thinning {
  std::int64_t newest{0};  ///< >= 0
  std::int64_t round{1};   ///< >= 1
  std::int64_t leave{0};   ///< dropped tokens of a round, < round; 0: none is dropped

  /// Number of tokens dropped when `later` tokens have come.
  [[nodiscard]] std::int64_t gone(std::int64_t later) const {
    return later < newest ? 0 : (later - newest) / round * leave;
  }
  friend auto operator<=>(const Thinning&, const Thinning&) = default;
};

/// Number of kept tokens, for policies of which only the number is known. `prompt`: tokens that an admission computes
/// before it samples.
struct KeptCount {
  std::int64_t budget{1};  ///< >= 1
  bool once{false};        ///< only the prompt is cut; all later tokens are kept, except for `thinning`
  Thinning thinning{};     ///< the number then goes up and down. REQUIRES: `once`, if it drops any

  /// Number of tokens kept of n. REQUIRES: n >= prompt.
  [[nodiscard]] std::int64_t of(std::int64_t n, std::int64_t prompt) const {
    if (once) return (prompt < budget ? prompt : budget) + (n - prompt) - thinning.gone(n - prompt);
    return n < budget ? n : budget;
  }
  friend auto operator<=>(const KeptCount&, const KeptCount&) = default;
};

/// `units` units with the same count.
struct CountedUnits {
  KeptCount kept;
  std::int64_t units{1};
};

/// `units` units, each of which keeps `kept[i]` tokens of prompt + i, for every i after which the request goes on. The
/// numbers may go up and down.
struct KeptUnits {
  std::vector<std::int64_t> kept;
  std::int64_t units{1};
};

enum class Placement : std::uint8_t { kHoles, kReuse, kCompact };

/// What determines a course. REQUIRES: 1 <= prompt <= final_tokens.
struct CourseShape {
  std::int64_t prompt{1};        ///< tokens computed before the first drop
  std::int64_t final_tokens{1};  ///< tokens written when the request ends
  std::int64_t alloc_unit_tokens{1};
  bool returns_alloc_units{true};  ///< false: contiguous memory, one range for each request
  Placement placement{Placement::kHoles};
  bool reads_holes{false};  ///< true: attention reads dropped tokens as long as they are held
};

/// The survivors of a request have moved, in order, into its first `alloc_units` allocation units; the units behind,
/// up to `alloc_units_before`, are freed from the end of its table. With several tables, units are counted over all
/// tables, survivors over the tables that freed some.
struct Compaction {
  /// All survivors, including those that did not move. 0: nothing moved; the stored tokens take less after encoding.
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
  /// The dropped positions. Null: only their number is known (see counts()), or each of several tables has its own.
  [[nodiscard]] virtual const Drops* drops() const { return nullptr; }
  /// Tables of the request, in order; neighbours that follow the same course are one entry (course_of_tables.h).
  [[nodiscard]] virtual std::vector<TableRun> tables() const;
  /// Numbers of kept tokens, for all units in order; neighbours with the same number are one entry. Empty: use drops()
  /// or kept_by_length().
  [[nodiscard]] virtual std::span<const CountedUnits> counts() const { return {}; }
  /// The numbers of kept tokens by length, for counts that go up and down in a way that KeptCount cannot describe.
  [[nodiscard]] virtual std::span<const KeptUnits> kept_by_length() const { return {}; }
  /// Cells of one token.
  [[nodiscard]] std::int64_t units() const { return units_; }
  /// How many of these hold only metadata from the moment the token is written (HeldCells::metadata).
  [[nodiscard]] std::int64_t metadata_units() const { return metadata_units_; }

  /// Slots that the table needs so that n tokens can be written: the argument of `Allocator::grow`. Contiguous
  /// memory: the slots written once n tokens are. Several tables: slots of their allocation units, summed.
  [[nodiscard]] virtual std::int64_t table_slots(std::int64_t n) const = 0;
  /// States of the allocation units [first, first + alloc_units) granted while the prompt is computed; contiguous
  /// memory: of the whole range.
  [[nodiscard]] virtual HeldCells granted(std::int64_t first, std::int64_t alloc_units) const = 0;

  // REQUIRES for all below: prompt <= n < final_tokens.

  /// All held cells after n tokens, when blocks have been freed.
  [[nodiscard]] virtual HeldCells settled(std::int64_t n) const = 0;
  /// Cells of the allocation unit that is granted so that token n can be written (of several tables: of their units;
  /// of encoded tokens: of what is encoded at the end of that step); none if no unit is needed.
  [[nodiscard]] virtual HeldCells grant(std::int64_t n) const = 0;
  /// Logical blocks freed after n tokens, highest first; their table entries stay, empty.
  [[nodiscard]] virtual std::span<const std::int32_t> freed_entries(std::int64_t /*n*/) const { return {}; }
  /// Placement compact, or encoded tokens: what moves after n tokens, and the blocks that this frees.
  [[nodiscard]] virtual std::optional<Compaction> compaction(std::int64_t /*n*/) const { return {}; }
  /// True: some block is freed after n tokens.
  [[nodiscard]] bool returns_blocks(std::int64_t n) const {
    return !freed_entries(n).empty() || compaction(n);
  }
  /// All held cells at the end of that step, before any block is freed, minus settled(n). If nothing moves, these are
  /// the cells of the freed blocks: all `hole`, or all `internal`. If survivors move, dropped cells count as `hole`
  /// until the move, and the cells behind the survivors as reserved only after it; so a state may be negative.
  [[nodiscard]] virtual HeldCells returned_cells(std::int64_t n) const = 0;
  /// Tokens that the next one reads: kept cells, and with `reads_holes` holes too, divided by units and rounded up. A
  /// dropped cell that a later token will take (placement reuse) is not read. Encoded tokens: the number of exact
  /// tokens with as many bytes as are read.
  [[nodiscard]] std::int64_t read_tokens(std::int64_t n) const {
    const HeldCells cells = settled(n);
    return ceil_div(cells.live + cells.metadata + (shape_.reads_holes ? cells.hole : 0), units_);
  }
  /// Cells dropped by the end of the step that wrote token n - 1.
  [[nodiscard]] virtual std::int64_t dropped_cells(std::int64_t n) const {
    return units_ * n - settled(n).live;
  }
  /// True: some cell has been dropped after n tokens, on this rank or another. If survivors move, other ranks are not
  /// considered.
  [[nodiscard]] virtual bool has_dropped(std::int64_t n) const { return dropped_cells(n) > 0; }
  /// Number of equal steps that begin with the step that writes token n. In each of them all states and read_tokens
  /// change as in the first, and at most one more token is read; nothing is granted or freed before the last one ends;
  /// no rank drops its first cell in any step but the first. At least 1, and never past the last token.
  [[nodiscard]] virtual std::int64_t alike_steps(std::int64_t n) const = 0;

 protected:
  Course(const CourseShape& shape, std::int64_t units, std::int64_t metadata_units = 0)
      : shape_(shape), units_(units), metadata_units_(metadata_units) {}
  CourseShape shape_;
  std::int64_t units_;
  std::int64_t metadata_units_;
};

/// `tables` neighbouring tables that each follow `course`; valid as long as the course that returned this.
struct TableRun {
  const Course* course{nullptr};
  std::int64_t tables{1};
};
inline std::vector<TableRun> Course::tables() const {
  return {{this, 1}};
}

/// Where a run gets its courses: one for each admission of each request.
class CourseSource {
 public:
  virtual ~CourseSource() = default;
  /// The course of an admission that computes `prompt` tokens before it samples; valid until `end` or the next
  /// `begin` for this request. Errors: a recording that cannot be read.
  virtual Result<const Course*> begin(RequestId request, std::int64_t prompt) = 0;
  virtual void end(RequestId request) = 0;
};

}  // namespace kvplan::core
