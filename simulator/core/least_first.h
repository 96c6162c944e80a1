// A priority queue, least item first, for items that wait for a step or a time: a few to a thousand at once.
//
// It is a heap with four children per node. An item's order is one 128-bit number (time above, tie below), so choosing
// among four children needs no branch. If an item is added after one was taken, it sinks from the free root, which is
// half the work of taking and adding separately. (Wider nodes: LaMarca and Ladner, "The influence of caches on the
// performance of heaps", 1996.) simulator/bench/README.md compares its times with those of std::priority_queue.
#pragma once

#include <cstdint>
#include <vector>

namespace kvplan::core {

/// A number to order by, and a second number that breaks ties.
__extension__ typedef unsigned __int128 QueueKey;
constexpr QueueKey queue_key(std::int64_t first, std::int64_t tie) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;  // so that numbers below 0 come first
  return static_cast<QueueKey>(static_cast<std::uint64_t>(first) ^ kSign) << 64 |
         (static_cast<std::uint64_t>(tie) ^ kSign);
}

/// `Item`: a plain value with `QueueKey key() const`. Items with equal keys are taken in any order.
template <class Item>
class LeastFirst {
 public:
  [[nodiscard]] bool empty() const { return items_.size() == (top_taken_ ? 1 : 0); }
  void put(const Item& item) {
    if (top_taken_) {
      top_taken_ = false;
      sink(item);
      return;
    }
    items_.push_back(item);
    std::size_t at = items_.size() - 1;
    for (const QueueKey key = item.key(); at > 0; at = (at - 1) / kChildren) {
      const Item& parent = items_[(at - 1) / kChildren];
      if (parent.key() <= key) break;
      items_[at] = parent;
    }
    items_[at] = item;
  }
  /// The least item. REQUIRES: not empty.
  [[nodiscard]] const Item& least() {
    if (top_taken_) close_gap();
    return items_.front();
  }
  /// Takes out the least item. REQUIRES: not empty.
  Item take() {
    const Item item = least();
    top_taken_ = true;
    return item;
  }

 private:
  static constexpr std::size_t kChildren = 4;

  void close_gap() {
    top_taken_ = false;
    const Item last = items_.back();
    items_.pop_back();
    if (!items_.empty()) sink(last);
  }
  /// Puts an item at the root, which is free, and moves smaller items up until it fits.
  void sink(const Item& item) {
    const QueueKey key = item.key();
    const std::size_t size = items_.size();
    Item* const items = items_.data();
    std::size_t at = 0;
    for (;;) {
      const std::size_t first = kChildren * at + 1;
      std::size_t best = first;
      if (first + kChildren <= size) {
        const std::size_t left = first + (items[first + 1].key() < items[first].key() ? 1 : 0);
        const std::size_t right = first + 2 + (items[first + 3].key() < items[first + 2].key() ? 1 : 0);
        best = items[right].key() < items[left].key() ? right : left;
      } else {
        if (first >= size) break;
        for (std::size_t child = first + 1; child < size; ++child)
          if (items[child].key() < items[best].key()) best = child;
      }
      if (key <= items[best].key()) break;
      items[at] = items[best];
      at = best;
    }
    items[at] = item;
  }

  std::vector<Item> items_;
  bool top_taken_{false};  ///< the root is free, because its item was taken
};

}  // namespace kvplan::core
