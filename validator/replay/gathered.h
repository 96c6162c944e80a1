// The tables of a request with survivors that move together, cell by cell, in their present state: the token of each
// cell, and whether it is kept. If a log says how many tokens are dropped but not which, this class chooses some; any
// choice will do, since only the number of remaining tokens counts. The rule of placement is implemented a second time
// in this file (simulator/io/log/FORMAT.md describes it).
//
// Life cycle: made at an admission; its drops (`told`) are added until they are complete; then step by step `plan` and
// `commit`, and `gather` when due.
#pragma once

#include <cstdint>
#include <vector>

#include "validator/replay/cells.h"
#include "validator/replay/told_drops.h"

namespace kvplan::validator {

class Gathered {
 public:
  struct Shape {
    std::int64_t prompt, final_tokens;  ///< prompt and length of this admission; 1 <= prompt <= final_tokens
    std::int64_t alloc_unit_tokens;
    std::int64_t tracks;  ///< tracks of all tables: those of the first table, then as many of the next, ...
    std::int64_t tables;
    bool counted;        ///< true: Counts facts; false: Course facts
    std::uint64_t seed;  ///< seed of the choices
  };
  explicit Gathered(const Shape& shape);

  [[nodiscard]] ToldDrops& told() { return told_; }
  [[nodiscard]] const Shape& shape() const { return s_; }

  // REQUIRES for all below: told() is complete. Tracks are numbered through all tables.

  /// Cells of a table in use, [0, slots): survivors of its last move, and cells written since.
  [[nodiscard]] std::int64_t slots(std::int64_t table) const { return slots_[at(table)]; }
  /// Length of a table after the survivors moved: the kept tokens of the track that keeps most.
  [[nodiscard]] std::int64_t slots_kept(std::int64_t table) const { return most_kept(table, written_); }
  /// True: survivors of the table must move when n tokens are written. REQUIRES: n >= tokens written; none moved in
  /// between.
  [[nodiscard]] bool due(std::int64_t table, std::int64_t n) const {
    return n >= s_.prompt && n < s_.final_tokens &&
           slots(table) + n - written_ - most_kept(table, n) >= s_.alloc_unit_tokens;
  }
  /// As due, for any table.
  [[nodiscard]] bool any_due(std::int64_t n) const {
    bool any = false;
    for (std::int64_t table = 0; table < s_.tables; ++table) any = any || due(table, n);
    return any;
  }
  /// The expected content of a slot of a track.
  [[nodiscard]] Mark mark(std::int64_t track, std::int64_t slot) const;
  /// Kept cells of a track (first function), and the digest of the kept cells of all tracks (second), as in claims.
  [[nodiscard]] std::int64_t kept(std::int64_t track) const;
  [[nodiscard]] std::uint64_t kept_digest() const;

  struct Place {
    std::int64_t track, slot;
  };
  /// Plans to write the next `tokens` tokens, each to the slot behind those in use of every track, and to drop tokens
  /// after each. Returns the cells to be dropped; changes nothing yet. REQUIRES: no survivors have to move in between.
  const std::vector<Place>& plan(std::int64_t tokens);
  /// Executes the plan.
  void commit();
  /// Cells [from, from + cells) of a track move to [to, to + cells); to < from.
  struct Extent {
    std::int64_t track, from, to, cells;
  };
  /// Moves the survivors of a table together; returns the extents in an order in which they can be moved one after
  /// the other.
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
  std::int64_t planned_{0};                         ///< number of planned tokens
  std::vector<Place> dropping_;                     ///< cells that the plan drops
  std::vector<std::int64_t> slots_;                 ///< [table]
  std::vector<std::vector<Cell>> cells_;            ///< [track][slot]
  std::vector<std::vector<std::int32_t>> slot_of_;  ///< [track][token], for kept tokens
};

}  // namespace kvplan::validator
