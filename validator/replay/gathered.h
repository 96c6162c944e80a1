// The tables of a request whose survivors move together, cell by cell, as they are now: which token each cell holds,
// and whether it is kept. Where a log tells how many tokens go and not which, some are chosen here: any will do, since
// all that is counted is how many are left. The rule of placement is written here a second time
// (simulator/io/log/FORMAT.md has it in words).
//
// Life cycle: made at an admission, told its drops (`told`) until they are complete; then step by step `plan` and
// `commit`, and `gather` where that is due.
#pragma once

#include <cstdint>
#include <vector>

#include "validator/replay/cells.h"
#include "validator/replay/told_drops.h"

namespace kvplan::validator {

class Gathered {
 public:
  struct Shape {
    std::int64_t prompt, final_tokens;  ///< of this admission; 1 <= prompt <= final_tokens
    std::int64_t alloc_unit_tokens;
    std::int64_t tracks;  ///< of all tables: those of the first one, then as many of the next, ...
    std::int64_t tables;
    bool counted;        ///< Counts facts, not Course facts
    std::uint64_t seed;  ///< of what is chosen here
  };
  explicit Gathered(const Shape& shape);

  [[nodiscard]] ToldDrops& told() { return told_; }
  [[nodiscard]] const Shape& shape() const { return s_; }

  // REQUIRES for all below: told() is complete. Tracks are numbered through all tables.

  /// Cells of a table that were written since its survivors last moved, and survivors: [0, slots).
  [[nodiscard]] std::int64_t slots(std::int64_t table) const { return slots_[at(table)]; }
  /// How long it will be when survivors have moved: what the track that keeps most keeps.
  [[nodiscard]] std::int64_t slots_kept(std::int64_t table) const { return most_kept(table, written_); }
  /// Do survivors of a table have to move when n tokens are written? REQUIRES: n >= tokens written; none moved in
  /// between.
  [[nodiscard]] bool due(std::int64_t table, std::int64_t n) const {
    return n >= s_.prompt && n < s_.final_tokens &&
           slots(table) + n - written_ - most_kept(table, n) >= s_.alloc_unit_tokens;
  }
  /// Of any table?
  [[nodiscard]] bool any_due(std::int64_t n) const {
    bool any = false;
    for (std::int64_t table = 0; table < s_.tables; ++table) any = any || due(table, n);
    return any;
  }
  /// What is expected in a slot of a track.
  [[nodiscard]] Mark mark(std::int64_t track, std::int64_t slot) const;
  /// Kept cells of a track; the digest of those of all, as claims have it.
  [[nodiscard]] std::int64_t kept(std::int64_t track) const;
  [[nodiscard]] std::uint64_t kept_digest() const;

  struct Place {
    std::int64_t track, slot;
  };
  /// What goes when the next so many tokens are written, each to the slot behind those in use of every track, and after
  /// each of them what goes then. Changes nothing yet. REQUIRES: no survivors have to move in between.
  const std::vector<Place>& plan(std::int64_t tokens);
  /// Does what was planned.
  void commit();
  /// Cells [from, from + cells) of a track go to [to, to + cells); to < from.
  struct Extent {
    std::int64_t track, from, to, cells;
  };
  /// Survivors of a table move together; the extents in the order in which they can be moved one after the other.
  std::vector<Extent> gather(std::int64_t table);

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  struct Cell {
    std::int32_t token;
    bool kept;
  };
  [[nodiscard]] std::int64_t most_kept(std::int64_t table, std::int64_t n) const;
  [[nodiscard]] std::int64_t first_track(std::int64_t table) const { return table * (s_.tracks / s_.tables); }
  [[nodiscard]] std::int64_t table_of(std::int64_t track) const { return track / (s_.tracks / s_.tables); }
  void plan_some(std::int64_t track, std::int64_t tokens);

  Shape s_;
  ToldDrops told_;
  std::int64_t written_{0};
  std::int64_t planned_{0};                         ///< tokens
  std::vector<Place> dropping_;                     ///< by the plan
  std::vector<std::int64_t> slots_;                 ///< [table]
  std::vector<std::vector<Cell>> cells_;            ///< [track][slot]
  std::vector<std::vector<std::int32_t>> slot_of_;  ///< [track][token], of kept tokens
};

}  // namespace kvplan::validator
