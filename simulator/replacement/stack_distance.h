// Stack distances: how many different ids were used since the last use of an id, itself included.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/replacement/use.h"

namespace kvplan::replacement {

/// One bit for the last use of each id, in the order of time; a Fenwick tree counts the bits, 64 to a leaf. When
/// the array is full, the bits are moved together.
class StackDistances {
 public:
  explicit StackDistances(Id ids)
      : place_(ids, kNever), at_(places_for(ids)), bits_(at_.size() / 64), tree_(bits_.size() + 1) {}

  /// Uses an id and returns its distance. 0: it was never used before.
  std::uint32_t use(Id id) {
    if (next_ == at_.size()) pack();
    const std::uint32_t last = place_[id];
    std::uint32_t distance = 0;
    if (last == kNever) {
      ++live_;
    } else {
      distance = live_ - before(last);
      bits_[last / 64] &= ~(std::uint64_t{1} << (last % 64));
      add(last / 64, -1);
    }
    set(next_, id);
    add(next_ / 64, 1);
    ++next_;
    return distance;
  }

 private:
  static constexpr std::uint32_t kNever = UINT32_MAX;
  static std::size_t places_for(Id ids) { return (std::size_t{ids} * 2 / 64 + 2) * 64; }

  void set(std::size_t place, Id id) {
    bits_[place / 64] |= std::uint64_t{1} << (place % 64);
    at_[place] = id;
    place_[id] = static_cast<std::uint32_t>(place);
  }
  /// Number of bits at lower places.
  [[nodiscard]] std::uint32_t before(std::size_t place) const {
    const std::uint64_t below = (std::uint64_t{1} << (place % 64)) - 1;
    auto count = static_cast<std::uint32_t>(std::popcount(bits_[place / 64] & below));
    for (std::size_t leaf = place / 64; leaf > 0; leaf &= leaf - 1) count += tree_[leaf];
    return count;
  }
  void add(std::size_t leaf, int change) {
    for (++leaf; leaf < tree_.size(); leaf += leaf & -leaf) tree_[leaf] += static_cast<std::uint32_t>(change);
  }
  void pack() {
    std::size_t to = 0;
    for (std::size_t from = 0; from < next_; ++from) {
      std::uint64_t& word = bits_[from / 64];
      const std::uint64_t bit = std::uint64_t{1} << (from % 64);
      if ((word & bit) == 0) continue;
      word &= ~bit;
      set(to++, at_[from]);
    }
    next_ = to;
    tree_.assign(tree_.size(), 0);
    for (std::size_t leaf = 0; leaf < bits_.size(); ++leaf) {
      tree_[leaf + 1] += static_cast<std::uint32_t>(std::popcount(bits_[leaf]));
      const std::size_t up = (leaf + 1) + ((leaf + 1) & -(leaf + 1));
      if (up < tree_.size()) tree_[up] += tree_[leaf + 1];
    }
  }

  std::vector<std::uint32_t> place_;  // by id: place of its last use
  std::vector<Id> at_;                // by place: the id
  std::vector<std::uint64_t> bits_;   // by place: 1 if it is the last use of its id
  std::vector<std::uint32_t> tree_;   // sums of bits, from 1
  std::size_t next_{0};
  std::uint32_t live_{0};
};

}  // namespace kvplan::replacement
