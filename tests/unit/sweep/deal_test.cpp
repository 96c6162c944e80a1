// Cases dealt out to shards by what they are estimated to cost: against a second, obvious implementation, and what the
// estimate is made of.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "simulator/base/random.h"
#include "simulator/sweep/cost.h"
#include "simulator/sweep/deal.h"

namespace kvplan::sweep {
namespace {

/// The rule as it is said: again and again the dearest case that is left to the shard that has least.
std::vector<std::vector<std::int64_t>> naive(std::int64_t count, std::vector<std::int64_t> costs) {
  std::vector<std::vector<std::int64_t>> shares(static_cast<std::size_t>(count));
  std::vector<std::int64_t> loads(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const auto dearest = std::max_element(costs.begin(), costs.end());  // the first of equal ones
    const auto least = std::min_element(loads.begin(), loads.end());
    shares[static_cast<std::size_t>(least - loads.begin())].push_back(dearest - costs.begin());
    *least += *dearest;
    *dearest = -1;
  }
  for (auto& share : shares) std::sort(share.begin(), share.end());
  return shares;
}

TEST(Deal, IsTheRuleAsItIsSaid) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "deal");
    const std::int64_t count = random.between(2, 9);
    std::vector<std::int64_t> costs(random.below(60));
    for (std::int64_t& cost : costs) cost = random.between(0, random.chance(1, 2) ? 3 : 100'000);
    const auto wanted = naive(count, costs);
    std::vector<int> holders(costs.size());
    std::vector<std::int64_t> loads;
    for (std::int64_t k = 1; k <= count; ++k) {
      const auto mine = dealt_to({k, count}, costs);
      EXPECT_EQ(mine, wanted[static_cast<std::size_t>(k - 1)]);
      loads.push_back(0);
      for (const std::int64_t number : mine) {
        ++holders[static_cast<std::size_t>(number)];
        loads.back() += costs[static_cast<std::size_t>(number)];
      }
    }
    EXPECT_TRUE(std::all_of(holders.begin(), holders.end(), [](int n) { return n == 1; }));
    // Graham's bound: no shard has more than the mean and the dearest case together.
    const std::int64_t sum = std::accumulate(costs.begin(), costs.end(), std::int64_t{0});
    const std::int64_t dearest = costs.empty() ? 0 : *std::max_element(costs.begin(), costs.end());
    EXPECT_LE(*std::max_element(loads.begin(), loads.end()), sum / count + dearest);
  }
}

TEST(Deal, CasesThatCostTheSameAreDealtInTurn) {
  EXPECT_EQ(dealt_to({2, 3}, std::vector<std::int64_t>(8, 5)), (std::vector<std::int64_t>{1, 4, 7}));
  EXPECT_EQ(dealt_to({3, 3}, std::vector<std::int64_t>(8, 5)), (std::vector<std::int64_t>{2, 5}));
  EXPECT_EQ(dealt_to({9, 9}, {1, 2}), std::vector<std::int64_t>{});
}

CostTerms terms_of(std::vector<plan::Setting> settings) {
  settings.insert(settings.begin(), {"workload.trace", "t", {}, 0});
  const auto scenario = plan::resolve(settings);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  return cost_terms(scenario.value());
}

traces::Trace trace_of(std::int64_t requests) {
  traces::Trace trace;
  for (std::int64_t i = 0; i < requests; ++i) {
    trace.arrival_ns.push_back(i);
    trace.input_tokens.push_back(1500);
    trace.output_tokens.push_back(100);
  }
  return trace;
}

TEST(Cost, GrowsWithWhatIsThere) {
  const traces::Trace trace = trace_of(1000);
  const auto cost = [&](const std::vector<plan::Setting>& settings) {
    return estimated_cost_us(terms_of(settings), trace);
  };
  // 1 ms, 1000 requests of 3 us, 100 blocks of 8 ns for each.
  EXPECT_EQ(cost({}), 1000 + 1000 * 3 + 100'000 * 8 / 1000);
  EXPECT_EQ(cost({{"workload.limit", "10", {}, 0}}), 1000 + 10 * 3 + 1'000 * 8 / 1000);
  EXPECT_EQ(cost({{"workload.limit", "5000", {}, 0}}), cost({}));
  EXPECT_EQ(cost({{"memory.allocator", "paged:block_tokens=32", {}, 0}}),
            1000 + 1000 * 3 + 50'000 * 8 / 1000);
  EXPECT_EQ(cost({{"engine.prefix_cache", "false", {}, 0}}), 1000 + 1000 * 2 + 100'000 * 8 / 1000);
  EXPECT_EQ(cost({{"engine", "sglang", {}, 0}}), 1000 + 1000 * 8 + 100'000 * 8 / 1000);
  EXPECT_EQ(cost({{"memory.replacement", "arc", {}, 0}}), 1000 + 1000 * 3 + 100'000 * 958 / 1000);
  EXPECT_EQ(cost({{"memory.replacement", "lru", {}, 0}}), 1000 + 1000 * 3 + 100'000 * 558 / 1000);
  EXPECT_EQ(cost({{"fleet", "replicas=4", {}, 0}}), 1400 + 1000 * 11 + 100'000 * 8 / 1000);
  EXPECT_EQ(cost({{"eviction", "window:window=64", {}, 0}}), 1000 + 1000 * 3 + 100'000 * 178 / 1000);
  EXPECT_EQ(cost({{"eviction", "window:window=64,placement=reuse", {}, 0}}),
            1000 + 1000 * 2 + 100'000 * 378 / 1000);
  const std::vector<plan::Setting> in_place{{"eviction", "window:window=64", {}, 0},
                                            {"budget", "uniform:capacity=64", {}, 0}};
  EXPECT_EQ(cost(in_place), 1000 + 1000 * 3 + 100'000 * 378 / 1000) << "finds prefixes";
  const std::vector<plan::Setting> compact{{"eviction", "window:window=64,placement=compact", {}, 0}};
  std::vector<plan::Setting> by_layer = compact;
  by_layer.push_back({"memory.allocator", "paged:table=layer", {}, 0});
  EXPECT_EQ(cost(by_layer), cost(compact) + 1'600'000 * 50 / 1000) << "for each token";
  EXPECT_EQ(cost({by_layer[1]}), cost({})) << "nothing goes, so the tables are one";
  EXPECT_EQ(cost({{"format", "kivi", {}, 0}}), 1000 + 1000 * 2 + 100'000 * 378 / 1000);
  EXPECT_EQ(cost({{"format", "pyramid-int8", {}, 0}}),
            cost({{"format", "kivi", {}, 0}}) + 100'000 * 32 * 210 / 1000)
      << "for each output token in each of the 32 layers";
  EXPECT_EQ(cost({{"format", "pyramid-int8", {}, 0}, {"model", "llama-3-70b", {}, 0}}),
            cost({{"format", "kivi", {}, 0}}) + 100'000 * 80 * 210 / 1000);
  traces::Trace hashed = trace_of(1000);
  hashed.prefix.block_tokens = 16;
  EXPECT_EQ(estimated_cost_us(terms_of({}), hashed), cost({}) + 100'000 * 70 / 1000);
}

TEST(Cost, DoesNotOverflow) {
  traces::Trace trace = trace_of(3000);
  for (std::int32_t& tokens : trace.input_tokens) tokens = 999'900;
  const auto dear =
      terms_of({{"memory.replacement", "lirs", {}, 0}, {"memory.allocator", "paged:block_tokens=1", {}, 0}});
  EXPECT_EQ(estimated_cost_us(dear, trace), 1000 + 3000 * 3 + std::int64_t{1'000'000} * 3000 * 17'958 / 1000);
  CostTerms terms = dear;
  terms.token_ps = INT64_MAX / 4;
  EXPECT_EQ(estimated_cost_us(terms, trace), kMostCost);
  terms = {};
  EXPECT_EQ(estimated_cost_us(terms, trace), 1);
}

}  // namespace
}  // namespace kvplan::sweep
