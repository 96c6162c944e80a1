// LRU at all sizes compared with one size at a time; its estimate from a sample; the flow compared with other methods.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/replacement/flow_bound.h"
#include "simulator/replacement/lru_curve.h"
#include "simulator/replacement/stack_distance.h"
#include "tests/unit/replacement/cases.h"

namespace kvplan::replacement {
namespace {

using testing::cases;
using testing::hits_of;
using testing::trace_of;

TEST(StackDistance, IsTheNumberOfOthersSince) {
  for (std::int64_t seed = 0; seed < cases(50); ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "distance");
    const auto ids = static_cast<Id>(random.between(1, 200));
    StackDistances distances(ids);
    std::vector<Id> order;  // by last use, oldest first
    for (int k = 0; k < 2000; ++k) {
      const auto id = static_cast<Id>(std::min(random.below(ids), random.below(ids)));
      const auto at = std::find(order.begin(), order.end(), id);
      ASSERT_EQ(distances.use(id), static_cast<std::uint32_t>(order.end() - at)) << "seed " << seed;
      if (at != order.end()) order.erase(at);
      order.push_back(id);
    }
  }
}

TEST(LruCurve, IsLruAtEachSize) {
  for (std::int64_t seed = 0; seed < cases(100); ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "curve");
    const traces::Trace trace = trace_of(testing::random_prompts(random));
    const auto refs = references_of(trace);
    const auto curve = lru_curve(refs.value(), nullptr);
    ASSERT_TRUE(curve.ok());
    EXPECT_EQ(curve.value().at(0), Hits{});
    for (std::int64_t capacity = 1; capacity < 30; ++capacity)
      EXPECT_EQ(curve.value().at(capacity), hits_of("lru", trace, capacity))
          << "seed " << seed << ", " << capacity << " blocks";
  }
}

TEST(SampledCurve, OfEverythingIsTheCurve) {
  for (std::int64_t seed = 0; seed < 20; ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "sample");
    testing::Prompts prompts;
    for (int k = 0; k < 3000; ++k)
      prompts.ids.push_back({static_cast<Id>(random.below(random.chance(1, 2) ? 30 : 300))});
    const traces::Trace trace = trace_of(prompts);
    const auto refs = references_of(trace);
    const auto curve = lru_curve(refs.value(), nullptr);
    const auto sampled = sampled_lru_curve(refs.value(), {1, 1}, 0, nullptr);
    ASSERT_TRUE(sampled.ok()) << sampled.error().to_string();
    EXPECT_EQ(sampled.value().sampled(), refs.value().count());
    for (std::int64_t capacity = 0; capacity < 310; ++capacity)
      EXPECT_EQ(sampled.value().at(capacity).hit_rate,
                static_cast<double>(curve.value().at(capacity).object) / 3000);
    std::int64_t changes = 0;
    for (std::int64_t capacity = 1; capacity < 310; ++capacity)
      changes += curve.value().at(capacity) == curve.value().at(capacity - 1) ? 0 : 1;
    EXPECT_EQ(static_cast<std::int64_t>(sampled.value().capacities().size()), changes);
  }
}

// The stated error is right if estimates lie within two of it about as often as those of a normal distribution do.
TEST(SampledCurve, StatesItsError) {
  int within = 0, all = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed, "error");
    testing::Prompts prompts;
    for (int k = 0; k < 20'000; ++k)
      prompts.ids.push_back({static_cast<Id>(random.below(random.chance(1, 2) ? 400 : 4000))});
    const traces::Trace trace = trace_of(prompts);
    const auto refs = references_of(trace);
    const auto curve = lru_curve(refs.value(), nullptr);
    const auto sampled = sampled_lru_curve(refs.value(), {1, 10}, seed, nullptr);
    ASSERT_TRUE(sampled.ok());
    for (const std::int64_t capacity : {300, 1000, 2000}) {
      const auto [rate, error] = sampled.value().at(capacity);
      const double exact = static_cast<double>(curve.value().at(capacity).object) / 20'000;
      EXPECT_GT(error, 0);
      ++all;
      if (std::abs(rate - exact) <= 2 * error) ++within;
    }
  }
  EXPECT_GE(within, all * 8 / 10) << "of " << all;
}

TEST(SampledCurve, NeedsEnoughBlocks) {
  const traces::Trace trace = trace_of({{{1, 2, 3}, {1, 2, 3}}, {}, {}});
  const auto refs = references_of(trace);
  const auto curve = sampled_lru_curve(refs.value(), {1, 1000}, 0, nullptr);
  ASSERT_FALSE(curve.ok());
  EXPECT_EQ(curve.error().field, "--sample");
}

/// The most reuses of which at most `capacity` overlap, found by trying all sets.
std::int64_t most_by_trying(const std::vector<Id>& ids, std::int64_t capacity) {
  std::vector<std::pair<std::size_t, std::size_t>> reuses;
  for (std::size_t k = 0; k < ids.size(); ++k)
    for (std::size_t next = k + 1; next < ids.size(); ++next)
      if (ids[next] == ids[k]) {
        reuses.emplace_back(k, next);
        break;
      }
  std::int64_t best = 0;
  for (std::uint32_t set = 0; set < 1U << reuses.size(); ++set) {
    std::vector<std::int64_t> kept(ids.size());
    std::int64_t count = 0;
    for (std::size_t i = 0; i < reuses.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      ++count;
      for (std::size_t gap = reuses[i].first; gap < reuses[i].second; ++gap) ++kept[gap];
    }
    if (*std::max_element(kept.begin(), kept.end()) <= capacity) best = std::max(best, count);
  }
  return best;
}

TEST(FlowBound, IsTheMostThatFits) {
  for (std::int64_t seed = 0; seed < cases(100); ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "most");
    testing::Prompts prompts;
    std::vector<Id> ids;
    for (int k = 0; k < 14; ++k) {
      ids.push_back(static_cast<Id>(random.below(5)));
      prompts.ids.push_back({ids.back()});
    }
    const traces::Trace trace = trace_of(prompts);
    const auto refs = references_of(trace);
    for (const std::int64_t capacity : {1, 2, 3, 4}) {
      const auto bound = flow_bound(refs.value(), capacity, nullptr);
      ASSERT_TRUE(bound.ok());
      EXPECT_EQ(bound.value().method, "min-cost-flow");
      EXPECT_EQ(bound.value().hits, most_by_trying(ids, capacity)) << "seed " << seed << ", " << capacity;
    }
  }
}

TEST(FlowBound, GreedyReachesIt) {
  for (std::int64_t seed = 0; seed < cases(60); ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "flow");
    const traces::Trace trace = trace_of(testing::random_prompts(random));
    const auto refs = references_of(trace);
    for (const std::int64_t capacity : {1, 2, 3, 5, 8, 13, 1000}) {
      const auto flow = flow_bound(refs.value(), capacity, nullptr);
      const auto greedy = flow_bound(refs.value(), capacity, nullptr, -1);
      ASSERT_TRUE(flow.ok() && greedy.ok());
      EXPECT_EQ(flow.value().method, "min-cost-flow");
      EXPECT_EQ(greedy.value().method, "greedy");
      EXPECT_EQ(flow.value().hits, greedy.value().hits) << "seed " << seed << ", " << capacity << " blocks";
      EXPECT_EQ(flow.value().intervals, greedy.value().intervals);
      EXPECT_TRUE(capacity < 1000 || flow.value().intervals == 0) << "where all fit there is no choice";
      EXPECT_LE(hits_of("belady", trace, capacity).object, flow.value().hits);
    }
  }
}

}  // namespace
}  // namespace kvplan::replacement
