// The block that each replacement policy evicts, worked out by hand.
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

// ---- by hand ----

/// Requests with prompts that begin with shared contents; each has one more token of output than it writes.
struct Bench {
  /// `prompts`: tokens of each request, and its first content; the later contents follow by number. Blocks have four
  /// tokens, and at most `most` of a request's blocks are shared.
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
  /// The block with the last of the request's tokens.
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
  /// Leading tokens of the request that are cached.
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
    b.admit(3);  // hits content 0, and takes the fourth block
    b.end(3);
    b.admit(4);  // the fourth block, empty again, gets content 3
    EXPECT_EQ(b.counts().free, 0);
    b.admit(5);  // one of the contents 0, 1 and 2 is evicted
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
  // A prompt of two blocks, then another request that needs one. By cost alone, the first block is evicted, since the
  // second block needs more context to be recomputed; then the second cannot be hit.
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

/// Two groups, one of which sees everything and one five tokens. The pool has the four blocks that a prompt of eight
/// tokens takes: 1 and 2 in the first group, 3 and 4 in the second. A request of two tokens needs one in each group.
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
      pool->release(RequestId{0}, 7);  // without its last token: the request will return
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
  b.end(0);  // its lifetime begins now
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

}  // namespace
}  // namespace kvplan
