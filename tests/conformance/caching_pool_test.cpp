// The rules of PyTorch's caching allocator one by one, on sequences worked out by hand (reference: the constants and
// rules as restated in simulator/memory/caching_pool.h), and random sequences on which the fast pool is compared with
// the naive pool, which is written to be read.
#include "simulator/memory/caching_pool.h"

#include <gtest/gtest.h>

#include "simulator/base/random.h"
#include "simulator/memory/caching_pool_model.h"

namespace kvplan::memory {
namespace {

constexpr std::int64_t kMiB = kCachingMebibyte;

CachingBlock block(std::int64_t address, std::int64_t bytes) {
  return {address, bytes};
}

TEST(CachingSizes, RoundedToUnitsOfHalfAKibibyte) {
  EXPECT_EQ(caching_rounded(1, 0), 512);
  EXPECT_EQ(caching_rounded(512, 0), 512);
  EXPECT_EQ(caching_rounded(513, 0), 1024);
  EXPECT_EQ(caching_rounded(1200, 0), 1536);
}

TEST(CachingSizes, DivisionsOfPowersOfTwo) {
  // A size above 512 x 4 with four divisions: 5000 lies between 4096 and 8192, in steps of 1024.
  EXPECT_EQ(caching_rounded(5000, 4), 5120);
  EXPECT_EQ(caching_rounded(4096, 4), 4096);
  EXPECT_EQ(caching_rounded(4097, 4), 5120);
  EXPECT_EQ(caching_rounded(8191, 4), 8192);
  // Up to 512 x divisions, sizes are rounded to multiples of 512.
  EXPECT_EQ(caching_rounded(2048, 4), 2048);
  EXPECT_EQ(caching_rounded(1200, 4), 1536);
  EXPECT_EQ(caching_rounded(1200, 2), 1536);  // 1024 + 512
  EXPECT_EQ(caching_rounded(1537, 2), 2048);
  EXPECT_EQ(caching_rounded(33 * kMiB, 8), 36 * kMiB);
}

TEST(CachingSizes, Segments) {
  EXPECT_EQ(caching_segment(512), 2 * kMiB);
  EXPECT_EQ(caching_segment(kMiB), 2 * kMiB);
  EXPECT_EQ(caching_segment(kMiB + 512), 20 * kMiB);
  EXPECT_EQ(caching_segment(10 * kMiB - 512), 20 * kMiB);
  EXPECT_EQ(caching_segment(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(caching_segment(10 * kMiB + 512), 12 * kMiB);
}

// Every rule is tested on both implementations.
template <class Pool>
class CachingRule : public testing::Test {};
using Pools = testing::Types<CachingPool, CachingPoolModel>;
TYPED_TEST_SUITE(CachingRule, Pools, );

TYPED_TEST(CachingRule, SmallBlocksShareSegmentsOfTwoMebibytes) {
  TypeParam pool({.capacity_bytes = 100 * kMiB});
  EXPECT_EQ(pool.allocate(1), block(0, 512));
  EXPECT_EQ(pool.allocate(700), block(512, 1024));
  EXPECT_EQ(pool.reserved_bytes(), 2 * kMiB);
  EXPECT_EQ(pool.allocated_bytes(), 1536);
  // The largest size of the small pool: the rest of the segment, 2 MiB - 1536, is split for it.
  EXPECT_EQ(pool.allocate(kMiB), block(1536, kMiB));
  // 1 MiB - 1536 is left, so the next one takes a segment of its own.
  EXPECT_EQ(pool.allocate(kMiB), block(2 * kMiB, kMiB));
  EXPECT_EQ(pool.reserved_bytes(), 4 * kMiB);
  EXPECT_EQ(pool.free_blocks(), (std::vector{block(kMiB + 1536, kMiB - 1536), block(3 * kMiB, kMiB)}));
}

TYPED_TEST(CachingRule, SmallRestsAreSplitFromHalfAKibibyteOn) {
  TypeParam pool({.capacity_bytes = 2 * kMiB});
  pool.allocate(kMiB);
  EXPECT_EQ(pool.allocate(kMiB - 512), block(kMiB, kMiB - 512));
  EXPECT_EQ(pool.free_blocks(), (std::vector{block(2 * kMiB - 512, 512)}));
}

TYPED_TEST(CachingRule, LargeRestsUpToOneMebibyteStayWithTheirBlock) {
  TypeParam pool({.capacity_bytes = 100 * kMiB});
  EXPECT_EQ(pool.allocate(9 * kMiB), block(0, 9 * kMiB));
  // 11 MiB are free. A block of 10 MiB would leave 1 MiB, which is not more than 1 MiB, so the block is not split.
  EXPECT_EQ(pool.allocate(10 * kMiB), block(9 * kMiB, 11 * kMiB));
  EXPECT_EQ(pool.allocated_bytes(), 20 * kMiB);
  EXPECT_TRUE(pool.free_blocks().empty());
  pool.free(9 * kMiB);
  EXPECT_EQ(pool.allocate(10 * kMiB - 512), block(9 * kMiB, 10 * kMiB - 512));  // 1 MiB + 512 bytes remain
}

TYPED_TEST(CachingRule, SmallAndLargeDoNotShare) {
  TypeParam pool({.capacity_bytes = 100 * kMiB});
  pool.allocate(2 * kMiB);
  EXPECT_EQ(pool.allocate(512), block(20 * kMiB, 512));
  EXPECT_EQ(pool.reserved_bytes(), 22 * kMiB);
}

TYPED_TEST(CachingRule, BestFitAndOfEqualOnesTheLowest) {
  TypeParam pool({.capacity_bytes = 100 * kMiB});
  // [0, 4) [4, 6) [6, 9) [9, 11) [11, 20)
  for (const std::int64_t mebibytes : {4, 2, 3, 2, 9}) pool.allocate(mebibytes * kMiB);
  pool.free(0);
  pool.free(6 * kMiB);
  EXPECT_EQ(pool.allocate(2 * kMiB),
            block(6 * kMiB, 3 * kMiB));  // 3 fits better than 4; the remaining 1 MiB stays in the block
  pool.free(6 * kMiB);
  pool.free(11 * kMiB);
  EXPECT_EQ(pool.allocate(5 * kMiB), block(11 * kMiB, 5 * kMiB));
  EXPECT_EQ(pool.free_blocks(),
            (std::vector{block(0, 4 * kMiB), block(6 * kMiB, 3 * kMiB), block(16 * kMiB, 4 * kMiB)}));
  EXPECT_EQ(pool.allocate(4 * kMiB), block(0, 4 * kMiB));  // two of 4 MiB: the lower
}

TYPED_TEST(CachingRule, NeighboursOfOneSegmentJoin) {
  TypeParam pool({.capacity_bytes = 100 * kMiB});
  for (const std::int64_t mebibytes : {6, 6, 8}) pool.allocate(mebibytes * kMiB);
  pool.allocate(20 * kMiB);
  pool.free(0);
  pool.free(12 * kMiB);
  EXPECT_EQ(pool.free_blocks(), (std::vector{block(0, 6 * kMiB), block(12 * kMiB, 8 * kMiB)}));
  pool.free(6 * kMiB);
  pool.free(20 * kMiB);
  // Segments do not: [0, 20) and [20, 40).
  EXPECT_EQ(pool.free_blocks(), (std::vector{block(0, 20 * kMiB), block(20 * kMiB, 20 * kMiB)}));
  EXPECT_EQ(pool.reserved_bytes(), 40 * kMiB);
}

TYPED_TEST(CachingRule, OutOfMemoryGivesUnsplitSegmentsBackAndTriesAgain) {
  TypeParam pool({.capacity_bytes = 50 * kMiB});
  pool.allocate(20 * kMiB);  // [0, 20)
  pool.allocate(5 * kMiB);   // [20, 25) of [20, 40)
  EXPECT_FALSE(pool.allocate(30 * kMiB));
  EXPECT_EQ(pool.reserved_bytes(), 40 * kMiB);  // no idle segment is free as a whole
  pool.free(0);
  EXPECT_EQ(pool.reserved_bytes(), 40 * kMiB);
  EXPECT_EQ(pool.allocate(30 * kMiB), block(40 * kMiB, 30 * kMiB));  // [0, 20) is too short, and was returned
  EXPECT_EQ(pool.reserved_bytes(), 50 * kMiB);
  // 15 MiB of [20, 40) are free but not returned: the segment is split.
  EXPECT_FALSE(pool.allocate(16 * kMiB));
  EXPECT_EQ(pool.allocate(14 * kMiB), block(25 * kMiB, 15 * kMiB));
}

TYPED_TEST(CachingRule, BlocksAboveMaxSplitSizeAreNotCut) {
  TypeParam pool({.capacity_bytes = 200 * kMiB, .max_split_bytes = 30 * kMiB});
  pool.allocate(60 * kMiB);
  pool.free(0);
  // A free block of 60 MiB is not taken for a smaller request.
  EXPECT_EQ(pool.allocate(12 * kMiB), block(60 * kMiB, 12 * kMiB));
  // A large request takes one that is less than 20 MiB longer, and takes it whole.
  EXPECT_EQ(pool.allocate(40 * kMiB), block(72 * kMiB, 40 * kMiB));
  EXPECT_EQ(pool.allocate(40 * kMiB + 512), block(0, 60 * kMiB));
  EXPECT_EQ(pool.reserved_bytes(), 112 * kMiB);
}

TYPED_TEST(CachingRule, OutOfMemoryGivesOneOversizeBlockBackFirst) {
  TypeParam pool({.capacity_bytes = 120 * kMiB, .max_split_bytes = 30 * kMiB});
  pool.allocate(60 * kMiB);  // [0, 60)
  pool.allocate(12 * kMiB);  // [60, 72), whole
  pool.allocate(40 * kMiB);  // [72, 112)
  pool.free(0);
  pool.free(60 * kMiB);
  // 8 MiB are left; the free block of 60 MiB is 30 MiB too long. The smallest sufficient one is returned.
  EXPECT_EQ(pool.allocate(30 * kMiB), block(0, 30 * kMiB));
  EXPECT_EQ(pool.reserved_bytes(), 82 * kMiB);  // [60, 72) is still reserved
  EXPECT_EQ(pool.free_blocks(), (std::vector{block(60 * kMiB, 12 * kMiB)}));
}

TYPED_TEST(CachingRule, OldSegmentsGoBackAboveTheThreshold) {
  TypeParam pool({.capacity_bytes = 100 * kMiB, .garbage_threshold = 0.5});
  pool.allocate(20 * kMiB);  // [0, 20)
  pool.allocate(20 * kMiB);  // [20, 40)
  pool.allocate(14 * kMiB);  // [40, 54)
  pool.free(0);              // its age counts from here: the third search
  EXPECT_EQ(pool.allocate(12 * kMiB), block(0, 12 * kMiB));
  pool.free(0);
  pool.free(20 * kMiB);
  // 54 of 100 MiB are reserved. Both idle segments have the same age, which is the mean, so both are returned.
  EXPECT_EQ(pool.allocate(30 * kMiB), block(0, 30 * kMiB));
  EXPECT_EQ(pool.reserved_bytes(), 44 * kMiB);
  // Below the threshold nothing is returned.
  pool.free(40 * kMiB);
  EXPECT_EQ(pool.allocate(16 * kMiB), block(54 * kMiB, 16 * kMiB));
  EXPECT_EQ(pool.reserved_bytes(), 60 * kMiB);
}

TYPED_TEST(CachingRule, OfTwoAgesTheOlderGoes) {
  TypeParam pool({.capacity_bytes = 100 * kMiB, .garbage_threshold = 0.4});
  pool.allocate(20 * kMiB);
  pool.allocate(22 * kMiB);
  pool.free(0);
  pool.allocate(14 * kMiB);  // takes [0, 14) of [0, 20)
  pool.free(20 * kMiB);      // idle since the third search
  pool.allocate(26 * kMiB);  // the fourth; 42 MiB above 40: [20, 42) goes back, and [20, 46) comes
  EXPECT_EQ(pool.reserved_bytes(), 46 * kMiB);
  EXPECT_EQ(pool.free_blocks(), (std::vector{block(14 * kMiB, 6 * kMiB)}));
}

TYPED_TEST(CachingRule, ExpandableSegmentsGrowByChunks) {
  TypeParam pool({.capacity_bytes = 160 * kMiB, .expandable = true});
  // The first address range, 180 MiB, belongs to the pool that allocates first.
  EXPECT_EQ(pool.allocate(5 * kMiB), block(0, 5 * kMiB));
  EXPECT_EQ(pool.reserved_bytes(), 20 * kMiB);
  EXPECT_EQ(pool.allocate(30 * kMiB), block(5 * kMiB, 30 * kMiB));  // 15 MiB were free: one more chunk
  EXPECT_EQ(pool.reserved_bytes(), 40 * kMiB);
  EXPECT_EQ(pool.allocate(512), block(180 * kMiB, 512));  // chunks of 2 MiB in a range of their own
  EXPECT_EQ(pool.reserved_bytes(), 42 * kMiB);
  pool.free(5 * kMiB);
  // Whole chunks are returned: [20, 40). The rest of the first chunk stays.
  pool.empty_cache();
  EXPECT_EQ(pool.reserved_bytes(), 22 * kMiB);
  EXPECT_EQ(pool.free_blocks(),
            (std::vector{block(5 * kMiB, 15 * kMiB), block(180 * kMiB + 512, 2 * kMiB - 512)}));
  EXPECT_EQ(pool.allocate(16 * kMiB), block(5 * kMiB, 16 * kMiB));
  EXPECT_EQ(pool.reserved_bytes(), 42 * kMiB);
}

TYPED_TEST(CachingRule, ExpandableBlocksCountWhatTheyCouldBecome) {
  TypeParam pool({.capacity_bytes = 160 * kMiB, .expandable = true});
  for (const std::int64_t mebibytes : {6, 4, 20, 2}) pool.allocate(mebibytes * kMiB);  // 32 of 40 MiB
  pool.free(10 * kMiB);  // [10, 30): 20 MiB that cannot grow; [32, 40) is smaller and could
  EXPECT_EQ(pool.allocate(7 * kMiB), block(10 * kMiB, 7 * kMiB));
}

TYPED_TEST(CachingRule, ExpandableSegmentsUseMemoryThatSegmentsWouldHold) {
  // Five blocks of 10 MiB, every other one free: no 20 MiB are contiguous, but there are chunks after the last block.
  const CachingRules rules{.capacity_bytes = 60 * kMiB, .expandable = true};
  TypeParam pool(rules);
  for (int i = 0; i < 5; ++i) pool.allocate(10 * kMiB);
  pool.free(0);
  pool.free(20 * kMiB);
  EXPECT_EQ(pool.allocate(20 * kMiB), std::nullopt);  // [50, 60) and 0 MiB of the device are available
  pool.free(40 * kMiB);
  EXPECT_EQ(pool.allocate(20 * kMiB), block(40 * kMiB, 20 * kMiB));
}

TYPED_TEST(CachingRule, AllOrNothing) {
  TypeParam pool({.capacity_bytes = 60 * kMiB});
  pool.allocate(18 * kMiB);  // [0, 18)
  pool.allocate(4 * kMiB);   // [18, 22) of [18, 38)
  pool.free(0);
  const std::vector<std::int64_t> too_much{30 * kMiB, 15 * kMiB, 16 * kMiB};
  EXPECT_FALSE(pool.allocate_all(too_much));
  EXPECT_EQ(pool.reserved_bytes(), 38 * kMiB);  // as before: [0, 18) was not returned
  EXPECT_EQ(pool.free_blocks(), (std::vector{block(0, 18 * kMiB), block(22 * kMiB, 16 * kMiB)}));
  const std::vector<std::int64_t> fits{30 * kMiB, 15 * kMiB};
  EXPECT_EQ(pool.allocate_all(fits), (std::vector{block(38 * kMiB, 30 * kMiB), block(22 * kMiB, 16 * kMiB)}));
}

TYPED_TEST(CachingRule, AnIdlePoolGivesWhatAnEmptyOneGives) {
  TypeParam pool({.capacity_bytes = 50 * kMiB});
  pool.allocate(24 * kMiB);
  pool.allocate(26 * kMiB);
  pool.free(0);
  pool.free(24 * kMiB);
  // Three blocks of 8 MiB fit into each, two into each fresh segment of 20 MiB: seven are too many.
  EXPECT_FALSE(pool.allocate_all(std::vector<std::int64_t>(7, 8 * kMiB)));
  EXPECT_EQ(pool.reserved_bytes(), 50 * kMiB);
  // 50 MiB need both segments to be returned.
  EXPECT_EQ(pool.allocate_all(std::vector<std::int64_t>{50 * kMiB}), (std::vector{block(0, 50 * kMiB)}));
}

TEST(CachingPools, EqualUnderRandomSequences) {
  std::int64_t refused = 0;
  std::int64_t given = 0;
  std::int64_t all = 0;
  std::int64_t none = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "caching pools");
    CachingRules rules{.capacity_bytes = random.between(30, 300) * kMiB + random.between(0, 4) * 512};
    rules.expandable = random.chance(1, 3);
    if (random.chance(1, 3)) rules.max_split_bytes = random.between(21, 60) * kMiB;
    if (random.chance(1, 3)) rules.power2_divisions = std::int64_t{2} << random.below(4);
    if (random.chance(1, 3)) rules.garbage_threshold = static_cast<double>(random.between(1, 9)) / 10;
    CachingPool fast(rules);
    CachingPoolModel model(rules);
    std::vector<CachingBlock> held;
    const std::int64_t most = random.between(1, random.chance(1, 2) ? 40 : 8) * kMiB;
    for (int operation = 0; operation < 250; ++operation) {
      const std::uint64_t what = random.below(100);
      if (what == 0) {
        fast.empty_cache();
        model.empty_cache();
      } else if (what < 45 && !held.empty()) {
        const std::size_t i = random.below(held.size());
        fast.free(held[i].address);
        model.free(held[i].address);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      } else if (what < 60) {
        std::vector<std::int64_t> sizes(random.below(6) + 1, random.between(1, most));
        if (random.chance(1, 3)) sizes.push_back(random.between(1, most));
        const auto a = fast.allocate_all(sizes);
        ASSERT_EQ(a, model.allocate_all(sizes));
        if (a) held.insert(held.end(), a->begin(), a->end());
        ++(a ? all : none);
      } else {
        const std::int64_t bytes = random.between(1, random.chance(1, 3) ? 2 * kMiB : most);
        const auto a = fast.allocate(bytes);
        const auto b = model.allocate(bytes);
        ASSERT_EQ(a, b) << bytes;
        ++(a ? given : refused);
        if (a) {
          ASSERT_GE(a->bytes, bytes);
          for (const CachingBlock& other : held)
            ASSERT_TRUE(other.address + other.bytes <= a->address || a->address + a->bytes <= other.address);
          held.push_back(*a);
        }
      }
      ASSERT_EQ(fast.free_blocks(), model.free_blocks());
      ASSERT_EQ(fast.reserved_bytes(), model.reserved_bytes());
      ASSERT_EQ(fast.allocated_bytes(), model.allocated_bytes());
      ASSERT_LE(fast.reserved_bytes(), rules.capacity_bytes);
      std::int64_t free = 0;
      for (const CachingBlock& b : fast.free_blocks()) free += b.bytes;
      ASSERT_EQ(fast.reserved_bytes(), fast.allocated_bytes() + free);
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(given, 10000);
  EXPECT_GT(all, 1000);
  EXPECT_GT(none, 1000);
}

}  // namespace
}  // namespace kvplan::memory
