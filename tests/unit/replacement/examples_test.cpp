// Reference strings worked out by hand and in print, and properties of the policies on any references.
#include <gtest/gtest.h>

#include "tests/unit/replacement/cases.h"

namespace kvplan::replacement {
namespace {

using testing::hits_of;
using testing::trace_of;

/// Every reference is a separate prompt.
traces::Trace string_of(const std::vector<Id>& ids) {
  testing::Prompts prompts;
  for (const Id id : ids) prompts.ids.push_back({id});
  return trace_of(prompts);
}

struct Example {
  const char* replacement;
  std::int64_t capacity, faults;
};

void expect_faults(const std::vector<Id>& ids, const std::vector<Example>& examples) {
  for (const Example& e : examples)
    EXPECT_EQ(
        static_cast<std::int64_t>(ids.size()) - hits_of(e.replacement, string_of(ids), e.capacity).object,
        e.faults)
        << e.replacement << ", " << e.capacity << " blocks";
}

// Silberschatz, Galvin, Gagne: Operating System Concepts, chapter on virtual memory.
TEST(Examples, TextbookString) {
  expect_faults({7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1},
                {{"fifo", 3, 15}, {"lru", 3, 12}, {"belady", 3, 9}});
}

// Belady, Nelson, Shedler 1969: FIFO with more room has more faults.
TEST(Examples, BeladysAnomaly) {
  expect_faults(
      {1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5},
      {{"fifo", 3, 9}, {"fifo", 4, 10}, {"lru", 3, 10}, {"lru", 4, 8}, {"belady", 3, 7}, {"belady", 4, 6}});
}

// By hand. 1 is used twice when 3 is inserted: LFU evicts 2, with the lowest count; so do SIEVE and CLOCK, which
// spare 1 once. 4 then replaces 3. FIFO evicts 1, then 2.
TEST(Examples, UsedOnceGoesFirst) {
  const std::vector<Id> ids{1, 1, 2, 3, 1, 4, 1};
  expect_faults(ids, {{"lfu", 2, 4}, {"sieve", 2, 4}, {"clock", 2, 4}, {"fifo", 2, 5}, {"gdsf", 2, 4}});
}

// By hand, 2 blocks, LFU: 1 and 2 both have two uses when 3 comes; 2 reached two first, so 2 is evicted and 1 stays.
TEST(Examples, LfuTiesTheFirstToReachItsCountGoes) {
  expect_faults({1, 2, 2, 1, 3, 1}, {{"lfu", 2, 3}});
  expect_faults({1, 2, 2, 1, 3, 2}, {{"lfu", 2, 4}});
}

// By hand. 3 comes after three uses: 1 was used twice in three, 2 once in one, so 1 is evicted, which LFU would keep.
TEST(Examples, HyperbolicCountsUsesForTheTimeSinceABlockCame) {
  expect_faults({1, 1, 2, 3, 2}, {{"hyperbolic", 2, 3}, {"lfu", 2, 4}});
  expect_faults({1, 1, 2, 3, 1}, {{"hyperbolic", 2, 4}, {"lfu", 2, 3}});
}

// By hand, 3 blocks. When 4 comes 1 was used twice in four uses, 2 once in two, 3 once in one: of the equal 1 and 2
// the older is evicted. All three are drawn, for any seed.
TEST(Examples, HyperbolicTiesTheOlderGoes) {
  expect_faults({1, 1, 2, 3, 4, 2}, {{"hyperbolic", 3, 4}, {"hyperbolic:sample=3,seed=7", 3, 4}});
  expect_faults({1, 1, 2, 3, 4, 1}, {{"hyperbolic", 3, 5}, {"hyperbolic:sample=3,seed=7", 3, 5}});
}

// By hand, 3 blocks, SIEVE. 1 and 2 are used again. 4 is inserted: the hand clears 1 and 2, evicts 3, and stays at the
// next newer block, which does not exist yet: so it starts over at 1, the bit of which is cleared. 5 replaces 1, then 6
// replaces 2.
TEST(Examples, SieveHandStaysAndStartsOver) {
  expect_faults({1, 2, 3, 1, 2, 4, 5, 2, 1}, {{"sieve", 3, 6}});
  expect_faults({1, 2, 3, 1, 2, 4, 5, 6, 4, 5, 6}, {{"sieve", 3, 6}});
}

// By hand, 10 blocks: the small queue has 1, the ghost 9. 1 to 10 fill the small queue; 11 pushes 1 out of it, to the
// ghost; 1 returns from there to the main queue, for 2. New blocks then leave through the small queue and spare 1.
TEST(Examples, S3FifoGhostsComeBackToTheMainQueue) {
  std::vector<Id> ids;
  for (Id id = 1; id <= 11; ++id) ids.push_back(id);
  ids.push_back(1);
  for (Id id = 12; id <= 30; ++id) ids.push_back(id);
  ids.push_back(1);  // the only hit
  expect_faults(ids, {{"s3fifo", 10, 31}, {"fifo", 10, 32}, {"lru", 10, 32}});
}

// A block stays if it is used twice in the small queue; in the main queue its count starts anew.
TEST(Examples, S3FifoPromotesAfterTwoUses) {
  const std::vector<Id> once{1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1};
  const std::vector<Id> twice{1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1};
  expect_faults(once, {{"s3fifo", 10, 12}, {"s3fifo:promote_uses=1", 10, 11}});
  expect_faults(twice, {{"s3fifo", 10, 11}});
}

// Megiddo and Modha: a scan of blocks used once does not evict the blocks that were used twice. LRU loses all of these.
TEST(Examples, ArcOutlivesAScan) {
  std::vector<Id> ids{1, 2, 1, 2};
  for (Id id = 10; id < 30; ++id) ids.push_back(id);
  ids.insert(ids.end(), {1, 2});
  expect_faults(ids, {{"arc", 4, 22}, {"2q", 4, 24}, {"lru", 4, 24}, {"slru", 4, 22}, {"lru-k", 4, 22}});
}

// Jiang and Zhang: a loop one block longer than the cache, on which LRU never hits.
TEST(Examples, LirsHitsInALoopThatIsTooLong) {
  std::vector<Id> ids;
  for (int round = 0; round < 10; ++round)
    for (Id id = 0; id < 11; ++id) ids.push_back(id);
  // Nine of the ten blocks stay; the two others miss in each round.
  expect_faults(ids, {{"lru", 10, 110}, {"lirs", 10, 11 + 9 * 2}});
}

// The live blocks at 10 s: with renewal, all that were used after 5 s; without it, those inserted after 5 s.
TEST(Examples, TtlCountsFromTheLastUseOrTheFirst) {
  testing::Prompts prompts{.ids = {{1}, {1}, {1}, {1}},
                           .arrival_ns = {0, 4'000'000'000, 5'000'000'000, 10'000'000'000},
                           .tenant = {}};
  const traces::Trace trace = trace_of(prompts);
  EXPECT_EQ(hits_of("ttl:life_s=5", trace, 9).object, 2) << "5 s after its last use it is gone";
  EXPECT_EQ(hits_of("ttl:life_s=5.001", trace, 9).object, 3);
  EXPECT_EQ(hits_of("ttl:life_s=5,renew=false", trace, 9).object, 1);
}

// A prompt's blocks count as hit only up to the first miss. FIFO of 3: 8 evicts 1, and when 1 returns it evicts 9; so 2
// is still cached when the last prompt requests 1 and 2.
TEST(Examples, PrefixHitsEndAtTheFirstMiss) {
  const traces::Trace trace = trace_of({{{1}, {9}, {1, 2}, {8}, {1, 2}}, {}, {}});
  EXPECT_EQ(hits_of("fifo", trace, 3), (Hits{.object = 2, .prefix = 1}));
  EXPECT_EQ(hits_of("fifo", trace, 4), (Hits{.object = 3, .prefix = 3}));
}

TEST(Laws, SieveAndLfuCoincideUntilTheHandStartsOver) {
  // The first eviction is the same: the oldest block that was used once, if there is one.
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed, "first eviction");
    std::vector<Id> ids{0, 1, 2, 3, 4};
    for (int k = 0; k < 4; ++k) ids.push_back(static_cast<Id>(random.below(5)));
    ids.push_back(5);
    for (Id id = 0; id < 5; ++id) {
      std::vector<Id> asked = ids;
      asked.push_back(id);
      EXPECT_EQ(hits_of("lfu", string_of(asked), 5), hits_of("sieve", string_of(asked), 5))
          << "seed " << seed;
    }
  }
}

TEST(Laws, NoPolicyBeatsTheOptimumAndAllAgreeWithoutEvictions) {
  for (std::int64_t seed = 0; seed < testing::cases(60); ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "optimum");
    const traces::Trace trace = trace_of(testing::random_prompts(random));
    const auto all = static_cast<std::int64_t>(trace.prefix.ids.size()) - trace.prefix.distinct;
    for (const std::int64_t capacity : {1, 2, 4, 8, 500}) {
      const Hits best = hits_of("belady", trace, capacity);
      const Hits bound = hits_of("belady:bypass=true", trace, capacity);
      EXPECT_LE(best.object, bound.object);
      EXPECT_EQ(bound.prefix, bound.object) << "with bypass no block stays without those before it";
      for (const ReplacementEntry* entry : replacements()) {
        if (entry->replay == nullptr) continue;         // has a meaning in pools only
        if (entry->descriptor.name == "ttl") continue;  // also evicts blocks because their time is over
        const Hits hits = hits_of(std::string(entry->descriptor.name), trace, capacity);
        EXPECT_LE(hits.prefix, hits.object);
        EXPECT_LE(hits.object, best.object) << entry->descriptor.name;
        if (capacity < 500) continue;
        EXPECT_EQ(hits, (Hits{.object = all, .prefix = all})) << entry->descriptor.name;
      }
    }
  }
}

TEST(Laws, MoreRoomNeverHurtsStackPolicies) {
  for (std::int64_t seed = 0; seed < testing::cases(60); ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "room");
    const traces::Trace trace = trace_of(testing::random_prompts(random));
    for (const char* name : {"lru", "belady"})
      for (std::int64_t capacity = 1; capacity < 12; ++capacity)
        EXPECT_LE(hits_of(name, trace, capacity).object, hits_of(name, trace, capacity + 1).object) << name;
  }
}

/// The best result of any choice of victims, found by trying all of them.
std::int64_t best_of_all(const std::vector<Id>& ids, std::size_t at, std::vector<Id> cache,
                         std::size_t capacity) {
  for (; at < ids.size(); ++at) {
    if (std::find(cache.begin(), cache.end(), ids[at]) != cache.end())
      return 1 + best_of_all(ids, at + 1, cache, capacity);
    if (cache.size() == capacity) break;
    cache.push_back(ids[at]);
  }
  if (at == ids.size()) return 0;
  std::int64_t best = 0;
  for (Id& victim : cache) {
    std::vector<Id> other = cache;
    other[static_cast<std::size_t>(&victim - cache.data())] = ids[at];
    best = std::max(best, best_of_all(ids, at + 1, other, capacity));
  }
  return best;
}

TEST(Laws, BeladyIsTheBestThereIs) {
  for (std::int64_t seed = 0; seed < testing::cases(200); ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "best");
    std::vector<Id> ids;
    for (int k = 0; k < 12; ++k) ids.push_back(static_cast<Id>(random.below(6)));
    for (const std::size_t capacity : {1U, 2U, 3U})
      EXPECT_EQ(hits_of("belady", string_of(ids), static_cast<std::int64_t>(capacity)).object,
                best_of_all(ids, 0, {}, capacity))
          << "seed " << seed << ", " << capacity << " blocks";
  }
}

}  // namespace
}  // namespace kvplan::replacement
