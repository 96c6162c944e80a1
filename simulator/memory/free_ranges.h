// The free ranges of a memory of equal places, and the fits by which one is chosen.
//
// Fits, as Knuth, The Art of Computer Programming 1, section 2.5, has them; whoever takes gets the low end of a free
// range:
// - first: the free range with the lowest address that is large enough;
// - best: the smallest that is large enough, of equal ones the lowest;
// - next: the first that is large enough of those that begin at or behind the end of the latest one taken, else the
//   lowest.
// Neighbours coalesce when they come back.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "simulator/core/allocator.h"

namespace kvplan::memory {

/// A length that was refused is refused again, without a search, until something comes back.
class FreeRanges {
 public:
  /// REQUIRES: `fit` is none of kBuddy. All places are free.
  FreeRanges(core::RangePlacement fit, std::int64_t places);

  /// Takes `length` places where the fit says; their address, or -1.
  std::int64_t take(std::int64_t length);
  /// Free places from `address` on; 0 where none begins there.
  [[nodiscard]] std::int64_t free_at(std::int64_t address) const;
  /// Takes the low end of the range in which `address` begins. REQUIRES: free_at(address) >= length. Next fit goes on
  /// from where it was.
  void take_at(std::int64_t address, std::int64_t length);
  void give_back(std::int64_t address, std::int64_t length);
  /// Moves held places down, into what is free right below them. REQUIRES: they are held, and all between is free.
  void slide(std::int64_t from, std::int64_t to, std::int64_t length);

 private:
  using Holes = std::map<std::int64_t, std::int64_t>;  // address -> length; never adjacent

  Holes::iterator find(std::int64_t length);
  void shorten(Holes::iterator hole, std::int64_t length);
  Holes::iterator remove(Holes::iterator hole);
  void remember_length(Holes::iterator hole);
  void forget_length(Holes::iterator hole);

  core::RangePlacement fit_;
  Holes holes_;
  std::set<std::pair<std::int64_t, std::int64_t>> lengths_;  // (length, address), for best fit
  std::int64_t latest_end_{0};
  std::int64_t places_;
  std::int64_t refused_;  // no range is as long
};

}  // namespace kvplan::memory
