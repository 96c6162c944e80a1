// memory.replacement in runs: every policy fast and step by step, what is cached counted by walking every block, and
// what the definition (memory/pool_policy.h) says in small cases that can be followed by hand. (tests/oracle has lru,
// fifo and lfu a second time.)
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

/// With parameters that matter in runs of some microseconds.
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

/// A pool that is short of blocks most of the time, in which something is found.
std::unique_ptr<test::RandomCase> draw_case(const replacement::ReplacementEntry& entry, std::uint64_t seed,
                                            std::vector<std::int32_t>& tenants) {
  auto c = test::draw_case(seed);
  if (c->allocator.rfind("paged", 0) != 0 || !c->prefix_cache) return nullptr;
  Random random(seed, "replacement run");
  if (random.chance(1, 2)) c->pool.blocks = std::max<std::int64_t>(c->pool.blocks / 2, 2);
  draw_replacement(entry, random, *c, tenants);
  return c;
}

/// Layers in groups that find prefixes, in a pool that is short of blocks.
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

/// What the pool says of its cache, and what the ledger says of every cell.
class Recount final : public test::CacheWalker {
 public:
  Recount(const core::Workload& workload, const core::MemoryLayout& layout, const observe::Ledger& ledger,
          core::KeepRule keep, bool all_reachable)
      : test::CacheWalker(workload, layout),
        ledger_(ledger),
        cells_(workload, layout, keep),
        all_reachable_(all_reachable) {}
  /// Told of everything that this one is; before it.
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
          // No block outlives its prefix, unless a request frees it and keeps what follows.
          const bool leaves = c->replacement.find("leaves=true") != std::string::npos;
          recount =
              std::make_unique<Recount>(c->workload, layout, ledger, c->keep, leaves && !c->keep.evicts());
          return {&recount->cells(), recount.get()};
        });
    if (HasFailure()) return;
  }
}

/// Of groups, in which blocks go from the middle of prompts, what can no longer be found.
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

// ---- by hand ----

/// Requests with prompts that begin with shared contents, by name; one token of output more than is written.
struct Bench {
  /// `prompts`: tokens of each request, and the first of its contents, each of which follows the one before it by
  /// number; blocks of four tokens, of which at most `most` are shared.
  Bench(const std::string& policy, std::int64_t blocks,
        std::vector<std::pair<std::int32_t, std::uint32_t>> prompts, std::uint32_t most = 1) {
    prefix.block_tokens = 4;
    prefix.offsets.push_back(0);
    for (const auto& [tokens, content] : prompts) {
      workload.arrival.push_back(SimTime{});
      workload.input.push_back(tokens);
      workload.output.push_back(1);
      for (std::uint32_t i = 0; i < std::min(static_cast<std::uint32_t>(tokens) / 4, most); ++i)
        prefix.ids.push_back(content + i);
      prefix.offsets.push_back(prefix.ids.size());
      prefix.distinct = std::max<std::int64_t>(prefix.distinct, content + most);
    }
    workload.prefix = &prefix;
    const Choice paged =
        parse_component("paged:block_tokens=4", "allocator", memory::allocator_descriptors()).value();
    if (!policy.empty())
      choice = parse_component(policy, "replacement", replacement::replacement_descriptors()).value();
    const memory::AllocatorRequest request{
        .workload = &workload, .pool = {.blocks = blocks + 1}, .replacement = choice ? &*choice : nullptr};
    for (const bool slow : {true, false}) {
      const auto& entry = memory::allocator_entry(paged);
      pools.push_back((slow ? entry.make_model(paged, request) : entry.make(paged, request)).value());
    }
  }
  void set_time(std::int64_t ns) {
    for (auto& pool : pools) pool->clock()->on_pass_begin(SimTime{Ticks{ns * 1024}});
  }
  /// The block that the last one of its tokens lies in.
  std::int32_t admit(std::int32_t request) {
    const RequestId r{request};
    const std::int64_t tokens = workload.input[index(r)];
    for (auto& pool : pools) {
      EXPECT_TRUE(pool->admit(r, pool->contents()->lookup(r, tokens), tokens, tokens)) << request;
      pool->contents()->insert(r, tokens);
    }
    EXPECT_EQ(pools[0]->table(r).ids.back(), pools[1]->table(r).ids.back()) << request;
    return number(pools[1]->table(r).ids.back());
  }
  void end(std::int32_t request) {
    const RequestId r{request};
    for (auto& pool : pools) {
      pool->release(r, workload.input[index(r)]);
      pool->contents()->forget(r);
    }
  }
  core::PoolCounts counts() {
    EXPECT_EQ(pools[0]->counts(), pools[1]->counts());
    return pools[1]->counts();
  }
  /// Leading tokens that are there.
  std::int64_t cached(std::int32_t request) {
    const RequestId r{request};
    EXPECT_EQ(pools[0]->contents()->cached_tokens(r, 5), pools[1]->contents()->cached_tokens(r, 5));
    return pools[1]->contents()->cached_tokens(r, 5);
  }
  core::Workload workload;
  traces::PrefixHashes prefix;
  std::optional<Choice> choice;
  std::vector<std::unique_ptr<core::Allocator>> pools;
};

/// All differences between `lru` and vLLM's queue: blocks without findable content, and spare copies, are evicted
/// before blocks that were freed earlier.
TEST(LruAndTheQueue, DifferInEmptyBlocksAndSpareCopies) {
  for (const bool queue : {true, false}) {
    SCOPED_TRACE(queue ? "queue" : "lru");
    const std::string policy = queue ? "" : "lru";
    {  // a cached block, freed first, and an empty one
      Bench b(policy, 2, {{4, 0}, {2, 0}, {2, 0}});
      EXPECT_EQ(b.admit(0), 1);
      EXPECT_EQ(b.admit(1), 2);
      b.end(0);
      b.end(1);
      EXPECT_EQ(b.admit(2), queue ? 1 : 2);
      EXPECT_EQ(b.cached(0), queue ? 0 : 4);
    }
    {  // a cached block, freed first, and two copies of another (a prompt of one block is never a full hit)
      Bench b(policy, 3, {{4, 0}, {4, 1}, {4, 1}, {2, 0}, {2, 0}});
      for (const std::int32_t r : {0, 1, 2}) EXPECT_EQ(b.admit(r), r + 1);
      for (const std::int32_t r : {0, 1, 2}) b.end(r);
      EXPECT_EQ(b.counts().duplicates, 1);
      EXPECT_EQ(b.admit(3), queue ? 1 : 2) << "the older copy, freed before the younger";
      EXPECT_EQ(b.counts().duplicates, queue ? 1 : 0);
      EXPECT_EQ(b.cached(0), queue ? 0 : 4);
      EXPECT_EQ(b.cached(1), 4);
      EXPECT_EQ(b.admit(4), queue ? 2 : 1) << "now the one that was freed first";
      EXPECT_EQ(b.cached(1), 4) << "the younger copy";
    }
  }
}

TEST(Replacement, EachPolicyChoosesItsVictim) {
  // Three contents inserted in order; the first is used again, and freed last.
  const auto after = [](const std::string& policy) {
    Bench b(policy, 4, {{4, 0}, {4, 1}, {4, 2}, {5, 0}, {4, 3}, {2, 0}});
    for (const std::int32_t r : {0, 1, 2}) b.admit(r);
    for (const std::int32_t r : {2, 1, 0}) b.end(r);
    b.admit(3);  // finds content 0, and takes the fourth block
    b.end(3);
    b.admit(4);  // the fourth block, empty again, gets content 3
    EXPECT_EQ(b.counts().free, 0);
    b.admit(5);  // one of 0, 1 and 2 goes
    std::string left;
    for (const std::int32_t r : {0, 1, 2})
      if (b.cached(r) == 4) left += static_cast<char>('0' + r);
    return left;
  };
  EXPECT_EQ(after("lru"), "01") << "2 was freed first";
  EXPECT_EQ(after("fifo"), "12") << "0 came first";
  EXPECT_EQ(after("lfu"), "02") << "1 and 2 were used once, 1 first";
}

TEST(Replacement, LeavesGoBeforeWhatTheyFollow) {
  // A prompt of two blocks, then another request that needs one. By cost alone the first block is evicted, since the
  // second needs more context to be computed again; then the second cannot be hit.
  for (const bool leaves : {false, true}) {
    SCOPED_TRACE(leaves ? "leaves" : "any");
    Bench b("cost-aware:flat=1,leaves=" + std::string(leaves ? "true" : "false"), 2, {{8, 0}, {5, 0}, {2, 0}},
            2);
    b.admit(0);
    b.end(0);
    EXPECT_EQ(b.counts().cached, 2);
    EXPECT_EQ(b.admit(2), leaves ? 2 : 1);
    EXPECT_EQ(b.cached(1), leaves ? 4 : 0);
    EXPECT_EQ(b.counts().unreachable, leaves ? 0 : 1);
    b.end(2);
  }
}

/// Two groups, one of which sees everything and one five tokens, and a pool of the four blocks that a prompt of eight
/// tokens takes: 1 and 2 of the first group, 3 and 4 of the second. A request of two tokens needs a block in each.
TEST(Replacement, GroupsHaveContentsOfTheirOwnThatAreAsDeepAsTheirBlocks) {
  core::Workload workload;
  for (const std::int32_t tokens : {8, 2}) {
    workload.arrival.push_back(SimTime{});
    workload.input.push_back(tokens);
    workload.output.push_back(1);
  }
  model::ModelShape shape{.name = "two", .source = "made up", .layers = 2};
  shape.runs = {{1, {.heads = 1, .key_size = 1, .value_size = 1, .window = 0}},
                {1, {.heads = 1, .key_size = 1, .value_size = 1, .window = 5}}};
  const Choice grouped =
      parse_component("grouped:block_tokens=4", "allocator", memory::allocator_descriptors()).value();
  const memory::AllocatorEntry& entry = memory::allocator_entry(grouped);
  const auto taken = [&](const std::string& policy) {
    const Choice choice =
        parse_component(policy, "replacement", replacement::replacement_descriptors()).value();
    const memory::AllocatorRequest request{.workload = &workload,
                                           .pool = {.blocks = 5},
                                           .token_bytes = shape.kv_token_bytes(),
                                           .model = &shape,
                                           .replacement = &choice};
    std::vector<std::int32_t> out;
    for (const bool slow : {true, false}) {
      const auto pool = (slow ? entry.make_model(grouped, request) : entry.make(grouped, request)).value();
      const auto admit = [&](RequestId r, std::int64_t tokens) {
        EXPECT_TRUE(pool->admit(r, pool->contents()->lookup(r, tokens), tokens, tokens));
        pool->contents()->insert(r, tokens);
        std::vector<std::int32_t> ids;
        for (const BlockId b : pool->table(r).ids) ids.push_back(number(b));
        return ids;
      };
      EXPECT_EQ(admit(RequestId{0}, 8), (std::vector<std::int32_t>{1, 3, 2, 4}));
      pool->release(RequestId{0}, 7);  // less than its last token: it will return
      EXPECT_EQ(pool->counts().cached, 4);
      const auto ids = admit(RequestId{1}, 2);
      EXPECT_TRUE(slow || ids == out) << policy;
      out = ids;
    }
    return out;
  };
  using Ids = std::vector<std::int32_t>;
  EXPECT_EQ(taken("lru"), (Ids{2, 1})) << "freed group by group, each from its end";
  EXPECT_EQ(taken("fifo"), (Ids{1, 2})) << "published group by group";
  EXPECT_EQ(taken("cost-aware:flat=1"), (Ids{1, 3})) << "the first blocks cost least, in either group";
  EXPECT_EQ(taken("cost-aware:flat=1,leaves=true"), (Ids{2, 1}))
      << "each group's end first, then what is one";
}

TEST(Replacement, HeldBlocksAreNotTakenAndACopyFreesTheOther) {
  Bench b("fifo", 3, {{4, 0}, {4, 1}, {4, 0}, {2, 0}, {2, 0}});
  b.admit(0);
  b.admit(1);
  b.end(1);
  EXPECT_EQ(b.admit(2), 3) << "a second copy of content 0";
  EXPECT_EQ(b.admit(3), 2) << "content 0 came first, but both copies are held";
  EXPECT_EQ(b.cached(1), 0);
  b.end(0);
  EXPECT_EQ(b.counts().cached, 1);
  EXPECT_EQ(b.admit(4), 1) << "the copy that no request holds";
  EXPECT_EQ(b.cached(0), 4) << "the one that is held";
}

TEST(Replacement, BlocksWithALifetimeExpireAtTheNextLookup) {
  Bench b("ttl:life_s=10", 4, {{4, 0}, {5, 0}, {5, 0}, {4, 1}});
  const auto seconds = [&](std::int64_t s) { b.set_time(s * 1'000'000'000); };
  const auto found = [&](std::int32_t request) {
    const RequestId r{request};
    const core::PrefixHit a = b.pools[0]->contents()->lookup(r, 5);
    EXPECT_EQ(a.tokens, b.pools[1]->contents()->lookup(r, 5).tokens);
    return a.tokens;
  };
  seconds(1);
  b.admit(0);
  seconds(100);
  b.end(0);  // its time begins now
  EXPECT_EQ(b.counts().cached, 1);
  seconds(109);
  EXPECT_EQ(found(1), 4);
  seconds(110);
  EXPECT_EQ(found(1), 4) << "nothing has changed since the same request asked";
  EXPECT_EQ(b.cached(2), 4) << "a lookup sees what is there";
  EXPECT_EQ(found(2), 0) << "another one asks";
  EXPECT_EQ(b.counts().cached, 0);
  EXPECT_EQ(b.counts().free, 4);
  b.admit(2);
  seconds(200);
  b.admit(3);
  EXPECT_EQ(b.cached(2), 4) << "held as long as it may be";
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
