// memory.replacement in runs: every policy fast and step by step, the cache counted by walking every block, and the
// rules of the definition (memory/pool_policy.h) in small cases worked out by hand. (tests/oracle has second
// implementations of lru, fifo and lfu.)
#include <gtest/gtest.h>
#include <algorithm>

#include "simulator/replacement/replacements.h"
#include "simulator/results/report.h"
#include "simulator/run/run.h"
#include "tests/support/cache_walker.h"
#include "tests/support/cell_walker.h"
#include "tests/support/group_case.h"
#include "tests/support/observed_run.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_trace.h"

namespace kvplan {
namespace {

std::vector<const replacement::ReplacementEntry*> policies() {
  std::vector<const replacement::ReplacementEntry*> out;
  for (const auto* entry : replacement::replacements())
    if (entry->make != nullptr) out.push_back(entry);
  return out;
}

/// A policy with parameters that have an effect in runs of some microseconds.
std::string draw_policy(const replacement::ReplacementEntry& entry, Random& random) {
  const std::string name(entry.descriptor.name);
  std::string params;
  if (name == "ttl") {
    params = ",life_s=0.00000" + std::to_string(random.between(1, 9)) +
             (random.chance(1, 2) ? ",renew=false" : "");
  } else if (name == "lease") {
    params = ",lease_s=0.00000" + std::to_string(random.between(1, 9));
  } else if (name == "workload-aware") {
    params = ",window=" + std::to_string(random.between(1, 20));
  } else if (name == "cost-aware") {
    params = ",flat=" + std::to_string(random.between(0, 9));
  } else if (name == "lru-k") {
    params = ",k=" + std::to_string(random.between(1, 4));
  } else if (name == "hyperbolic") {
    params = ",sample=" + std::to_string(random.between(1, 9));
  }
  return name + ":leaves=" + (random.chance(1, 3) ? "true" : "false") + params;
}

/// The policy of a case, and its requests.
void draw_replacement(const replacement::ReplacementEntry& entry, Random& random, test::RandomCase& c,
                      std::vector<std::int32_t>& tenants) {
  c.replacement = draw_policy(entry, random);
  tenants.clear();
  for (std::int64_t i = 0; i < c.workload.size(); ++i)
    tenants.push_back(static_cast<std::int32_t>(random.below(3)) - 1);
  if (random.chance(1, 2)) c.workload.tenant = tenants;
}

/// A pool that is short of blocks most of the time, with some prefix hits.
std::unique_ptr<test::RandomCase> draw_case(const replacement::ReplacementEntry& entry, std::uint64_t seed,
                                            std::vector<std::int32_t>& tenants) {
  auto c = test::draw_case(seed);
  if (c->allocator.rfind("paged", 0) != 0 || !c->prefix_cache) return nullptr;
  Random random(seed, "replacement run");
  if (random.chance(1, 2)) c->pool.blocks = std::max<std::int64_t>(c->pool.blocks / 2, 2);
  draw_replacement(entry, random, *c, tenants);
  return c;
}

/// Layer groups with prefix hits, in a pool that is short of blocks.
std::unique_ptr<test::RandomCase> draw_groups(const replacement::ReplacementEntry& entry, std::uint64_t seed,
                                              std::vector<std::int32_t>& tenants) {
  auto c = test::draw_group_case(seed, true);
  Random random(seed, "replacement in groups");
  draw_replacement(entry, random, *c, tenants);
  return c;
}

class BlockEvictions final : public core::Observer {
 public:
  void on_evict_block(BlockId /*block*/) override { ++count; }
  std::int64_t count{0};
};

class EveryPolicyInRuns : public testing::TestWithParam<const replacement::ReplacementEntry*> {};
INSTANTIATE_TEST_SUITE_P(Replacement, EveryPolicyInRuns, testing::ValuesIn(policies()),
                         [](const auto& tested) {
                           std::string name(tested.param->descriptor.name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(EveryPolicyInRuns, FastEqualsNaive) {
  test::Coverage coverage;
  BlockEvictions evictions;
  std::vector<std::int32_t> tenants;
  for (std::int64_t seed = 1; seed <= test::random_cases(250); ++seed) {
    const auto c = draw_case(*GetParam(), static_cast<std::uint64_t>(seed), tenants);
    if (c == nullptr) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator + " " + c->replacement);
    c->block_ids = seed % 2 == 0;
    const auto count = [&](const core::MemoryLayout& layout,
                           const observe::Ledger& /*ledger*/) -> std::vector<core::Observer*> {
      EXPECT_TRUE(layout.block_ids());
      return {&evictions};
    };
    ASSERT_EQ(test::observe_run(*c, true), test::observe_run(*c, false, nullptr, &coverage, count));
  }
  for (const std::int64_t count : {coverage.preempted, coverage.hits, coverage.rehits, coverage.refused,
                                   coverage.drops, coverage.in_runs})
    EXPECT_GT(count, 20);
  EXPECT_GT(evictions.count, 1000);
}

TEST_P(EveryPolicyInRuns, FastEqualsNaiveInGroups) {
  test::Coverage coverage;
  BlockEvictions evictions;
  std::vector<std::int32_t> tenants;
  for (std::int64_t seed = 1; seed <= test::random_cases(40, 10); ++seed) {
    const auto c = draw_groups(*GetParam(), static_cast<std::uint64_t>(seed), tenants);
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator + " " + c->replacement);
    const auto count = [&](const core::MemoryLayout& /*layout*/,
                           const observe::Ledger& /*ledger*/) -> std::vector<core::Observer*> {
      return {&evictions};
    };
    ASSERT_EQ(test::observe_run(*c, true), test::observe_run(*c, false, nullptr, &coverage, count));
  }
  for (const std::int64_t count :
       {coverage.preempted, coverage.hits, coverage.rehits, coverage.refused, coverage.blocks_freed})
    EXPECT_GT(count, 10);
  EXPECT_GT(evictions.count, 1000);
}

/// Counts the pool's cache and the ledger's cells a second time.
class Recount final : public test::CacheWalker {
 public:
  Recount(const core::Workload& workload, const core::MemoryLayout& layout, const observe::Ledger& ledger,
          core::KeepRule keep, bool all_reachable)
      : test::CacheWalker(workload, layout),
        ledger_(ledger),
        cells_(workload, layout, keep),
        all_reachable_(all_reachable) {}
  /// Gets every event that this object gets, before it.
  [[nodiscard]] test::CellWalker& cells() { return cells_; }
  void on_pass_end(const core::Pass& pass) override { compare(pass.pool); }
  void on_settled(SimTime /*time*/, const core::PoolCounts& pool) override { compare(pool); }

 private:
  void compare(const core::PoolCounts& pool) {
    if (testing::Test::HasFailure()) return;
    const core::PoolCounts counted = count();
    EXPECT_EQ(counted.cached, pool.cached);
    EXPECT_EQ(counted.duplicates, pool.duplicates);
    EXPECT_EQ(counted.unreachable, pool.unreachable);
    if (all_reachable_) {
      EXPECT_EQ(counted.unreachable, 0);
    }
    EXPECT_EQ(counted.sharers, pool.sharers);
    const observe::StateCounts walked = cells_.count();
    for (const observe::State s :
         {observe::State::kLive, observe::State::kReserved, observe::State::kHole, observe::State::kTail,
          observe::State::kCached, observe::State::kFree, observe::State::kStranded})
      EXPECT_EQ(walked[index(s)], ledger_.cells()[index(s)]) << observe::kStateNames[index(s)];
  }
  const observe::Ledger& ledger_;
  test::CellWalker cells_;
  bool all_reachable_;
};

TEST_P(EveryPolicyInRuns, CountsAreThoseOfEveryBlock) {
  std::vector<std::int32_t> tenants;
  for (std::int64_t seed = 1; seed <= test::random_cases(40); ++seed) {
    const auto c = draw_case(*GetParam(), static_cast<std::uint64_t>(seed), tenants);
    if (c == nullptr) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator + " " + c->replacement);
    std::unique_ptr<Recount> recount;
    test::observe_run(
        *c, true, nullptr, nullptr,
        [&](const core::MemoryLayout& layout, const observe::Ledger& ledger) -> std::vector<core::Observer*> {
          // No block stays longer than the blocks before it, unless a request frees one and keeps those after it.
          const bool leaves = c->replacement.find("leaves=true") != std::string::npos;
          recount =
              std::make_unique<Recount>(c->workload, layout, ledger, c->keep, leaves && !c->keep.evicts());
          return {&recount->cells(), recount.get()};
        });
    if (HasFailure()) return;
  }
}

/// In layer groups, blocks are freed in the middle of prompts; counts the blocks that can no longer be hit.
TEST_P(EveryPolicyInRuns, CachesOfGroupsAreThoseOfEveryBlock) {
  class Walk final : public test::CacheWalker {
   public:
    using test::CacheWalker::CacheWalker;
    void on_pass_end(const core::Pass& pass) override { compare(pass.pool); }
    void on_settled(SimTime /*time*/, const core::PoolCounts& pool) override { compare(pool); }
    std::int64_t unreachable{0};

   private:
    void compare(const core::PoolCounts& pool) {
      if (moments_++ % 7 != 0 || testing::Test::HasFailure()) return;
      const core::PoolCounts counted = count();
      EXPECT_EQ(counted.cached, pool.cached);
      EXPECT_EQ(counted.duplicates, pool.duplicates);
      EXPECT_EQ(counted.unreachable, pool.unreachable);
      EXPECT_EQ(counted.sharers, pool.sharers);
      unreachable += counted.unreachable;
    }
    std::int64_t moments_{0};
  };
  std::vector<std::int32_t> tenants;
  std::int64_t unreachable = 0;
  for (std::int64_t seed = 1; seed <= test::random_cases(16, 8); ++seed) {
    const auto c = draw_groups(*GetParam(), static_cast<std::uint64_t>(seed), tenants);
    if (c->workload.size() > 20) continue;  // every prompt is tried at every moment that is checked
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator + " " + c->replacement);
    std::unique_ptr<Walk> walk;
    test::observe_run(*c, false, nullptr, nullptr,
                      [&](const core::MemoryLayout& layout,
                          const observe::Ledger& /*ledger*/) -> std::vector<core::Observer*> {
                        walk = std::make_unique<Walk>(c->workload, layout);
                        return {walk.get()};
                      });
    if (HasFailure()) return;
    if (walk) unreachable += walk->unreachable;
  }
  EXPECT_GT(unreachable, 0);
}

// ---- scenarios ----

Result<runs::RunResult> run(const traces::Trace& trace, const std::vector<std::string>& sets,
                            bool step_by_step = false) {
  std::vector<runs::Setting> settings;
  for (const std::string& text : sets) settings.push_back(runs::parse_setting(text).value());
  auto scenario = runs::resolve(settings);
  if (!scenario.ok()) return scenario.error();
  runs::RunOptions options;
  options.step_by_step = step_by_step;
  options.timeline_bins = 20;
  return runs::run_scenario(scenario.value(), trace, options);
}

TEST(ReplacementScenario, FleetsThatLookIntoCachesAreTheSameStepByStep) {
  Random random(7, "replacement fleet");
  std::int64_t hits = 0;
  for (const auto* entry : policies()) {
    traces::Trace trace = test::random_trace(
        random, {.requests = 40, .hash_block = 8, .most_input = 90, .most_output = 60, .most_gap_ms = 20});
    const std::vector<std::string> sets{
        "memory.allocator=paged:block_tokens=4",
        "memory.pool_tokens=260",
        "engine=vllm-v1:token_budget=60,max_seqs=6",
        "latency=affine:base_ns=1000000,token_ns=30000,context_ns=100",
        "eviction=" + std::string(random.chance(1, 2) ? "full" : "window:window=30"),
        "fleet=replicas=3,router=prefix-affine",
        "memory.replacement=" + std::string(entry->descriptor.name)};
    const auto fast = run(trace, sets);
    const auto naive = run(trace, sets, true);
    ASSERT_TRUE(fast.ok()) << fast.error().to_string();
    EXPECT_EQ(runs::report_json(fast.value()), runs::report_json(naive.value())) << entry->descriptor.name;
    hits += fast.value().prefix_hit_tokens;
  }
  EXPECT_GT(hits, 1000);
}

TEST(ReplacementScenario, TheFutureIsRefusedAndWhereNothingIsCachedItIsIgnored) {
  Random random(8, "replacement scenario");
  const traces::Trace trace = test::random_trace(random, {.requests = 10});
  const std::string steps = "latency=affine:base_ns=1000000,token_ns=30000,context_ns=100";
  const auto belady = run(trace, {steps, "memory.replacement=belady"});
  ASSERT_FALSE(belady.ok());
  EXPECT_EQ(belady.error().field, "memory.replacement");
  EXPECT_NE(belady.error().message.find("needs to know the future"), std::string::npos);
  EXPECT_FALSE(run(trace, {steps, "memory.replacement=lur"}).ok());
  const auto warned = [&](const std::vector<std::string>& more) {
    std::vector<std::string> sets{steps, "memory.pool_tokens=2000", "memory.replacement=lru"};
    sets.insert(sets.end(), more.begin(), more.end());
    const auto result = run(trace, sets);
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    const auto& warnings = result.value().warnings;
    return std::count_if(warnings.begin(), warnings.end(),
                         [](const std::string& w) { return w.find("memory.replacement is ignored") == 0; });
  };
  EXPECT_EQ(warned({"memory.allocator=paged:block_tokens=8"}), 0);
  EXPECT_EQ(warned({"memory.allocator=paged:block_tokens=8", "engine.prefix_cache=false"}), 1);
  EXPECT_EQ(warned({"memory.allocator=contiguous"}), 1);
  EXPECT_EQ(warned({"memory.allocator=contiguous", "memory.replacement=vllm-queue"}), 0);
}

}  // namespace
}  // namespace kvplan
