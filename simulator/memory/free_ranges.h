// The free ranges of a memory of equal slots, and the rules by which a range is chosen.
//
// The rules are as in Knuth, The Art of Computer Programming 1, section 2.5; a request gets a range's low end:
// - first: the large enough free range with the lowest address;
// - best: the smallest range that is large enough, the lowest of equal ones;
// - next: the first large enough range that begins at or behind the end of the latest range taken, else the lowest.
// Neighbouring free ranges are joined.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "simulator/core/allocator.h"

namespace kvplan::memory {

/// A length that was refused is refused again, without a search, until something is freed.
class FreeRanges {
 public:
  /// REQUIRES: `fit` is not kBuddy. `places`: number of slots, all free at first.
  FreeRanges(core::RangePlacement fit, std::int64_t places);

  /// Takes `length` slots by the rule of the fit. Returns their address, or -1.
  std::int64_t take(std::int64_t length);
  /// Length of the free range that begins at `address`; 0 if none does.
  [[nodiscard]] std::int64_t free_at(std::int64_t address) const;
  /// Takes the low end of the free range that begins at `address`. REQUIRES: free_at(address) >= length. Does
  /// not move the pointer of next fit.
  void take_at(std::int64_t address, std::int64_t length);
  void give_back(std::int64_t address, std::int64_t length);
  /// Moves held slots down into the free range right below them. REQUIRES: they are held, and all slots between are
  /// free.
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
  std::int64_t refused_;  // this length and longer ones were refused
};

}  // namespace kvplan::memory
