// The queue of pending entries, compared with a sorted list.
#include "simulator/core/least_first.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "simulator/base/random.h"

namespace kvplan::core {
namespace {

struct Item {
  std::int64_t time, tie;
  int value;
  [[nodiscard]] QueueKey key() const { return queue_key(time, tie); }
};

TEST(LeastFirst, KeysAreInTheOrderOfTheirNumbers) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> numbers{kLow, kLow + 1, -1, 0, 1, kHigh - 1, kHigh};
  for (const std::int64_t a : numbers)
    for (const std::int64_t b : numbers)
      for (const std::int64_t c : numbers)
        for (const std::int64_t d : numbers)
          EXPECT_EQ(queue_key(a, b) < queue_key(c, d), std::pair(a, b) < std::pair(c, d));
}

/// Queues of all sizes, with entries added and removed in any order; many at one time.
TEST(LeastFirst, GivesWhatASortedListGives) {
  Random random(1, "least");
  for (int round = 0; round < 400; ++round) {
    LeastFirst<Item> queue;
    std::vector<Item> list;
    const std::uint64_t times = random.below(50) + 1;
    const std::uint64_t puts = random.below(4) + 1;  // 5 choices per step: the queue grows, or stays small
    int next = 0;
    for (int i = 0; i < 500; ++i) {
      if (random.chance(puts, 5)) {
        const Item item{static_cast<std::int64_t>(random.below(times)) - 10, next, next};
        ++next;
        queue.put(item);
        list.insert(std::upper_bound(list.begin(), list.end(), item,
                                     [](const Item& a, const Item& b) { return a.key() < b.key(); }),
                    item);
      } else if (!list.empty()) {
        if (random.chance(1, 2)) {
          ASSERT_EQ(queue.least().value, list.front().value);
        }
        ASSERT_EQ(queue.take().value, list.front().value);
        list.erase(list.begin());
      }
      ASSERT_EQ(queue.empty(), list.empty());
    }
    for (const Item& item : list) ASSERT_EQ(queue.take().value, item.value);
    EXPECT_TRUE(queue.empty());
  }
}

}  // namespace
}  // namespace kvplan::core
