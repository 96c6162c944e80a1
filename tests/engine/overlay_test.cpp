// Overlays on the ledger's states. Every run of differential_test checks that fast and naive runs agree and that the
// parts add up (support/observed_run.h); here the pool's counts are compared with a walk over every block, and reasons
// of refusals are worked out by hand.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "simulator/run/run.h"
#include "tests/support/allocator_parts.h"
#include "tests/support/cache_walker.h"
#include "tests/support/group_case.h"
#include "tests/support/observed_run.h"
#include "tests/support/random_cases.h"
#include "traces/import/open_trace.h"

namespace kvplan {
namespace {

using core::Refusal;
using observe::Overlay;

void widen(core::PoolCounts& most, const core::PoolCounts& counts) {
  most.duplicates = std::max(most.duplicates, counts.duplicates);
  most.unreachable = std::max(most.unreachable, counts.unreachable);
  most.sharers = std::max(most.sharers, counts.sharers);
}

/// Compares its count with the run's counts of its pool, at every `every`th moment.
class CheckedCache final : public test::CacheWalker {
 public:
  CheckedCache(const core::Workload& workload, const core::MemoryLayout& layout, std::int64_t every)
      : test::CacheWalker(workload, layout), every_(every) {}
  void on_pass_end(const core::Pass& pass) override {
    compare("pass", pass.time, pass.pool);
    EXPECT_EQ(pass.refused, pass.refusal != Refusal::kNone);
  }
  void on_settled(SimTime time, const core::PoolCounts& pool) override { compare("settled", time, pool); }
  core::PoolCounts most{};

 private:
  void compare(const char* when, SimTime time, const core::PoolCounts& pool) {
    if (++moments_ % every_ != 0 || testing::Test::HasFailure()) return;
    const core::PoolCounts walked = count();
    SCOPED_TRACE(std::string(when) + " at " + std::to_string(time.since_start.count));
    EXPECT_EQ(walked.cached, pool.cached);
    EXPECT_EQ(walked.duplicates, pool.duplicates);
    EXPECT_EQ(walked.unreachable, pool.unreachable);
    EXPECT_EQ(walked.sharers, pool.sharers);
    widen(most, walked);
  }
  std::int64_t every_;
  std::int64_t moments_{0};
};

/// Both pools with block ids; the third pool, which counts runs of blocks, is compared with the second one in
/// differential_test.
TEST(Overlays, CacheAndSharingEqualAWalkOverEveryBlock) {
  core::PoolCounts most_whole{};
  core::PoolCounts most_dropping{};
  for (std::uint64_t seed = 1; std::cmp_less_equal(seed, test::random_cases(150, 60)); ++seed) {
    const auto c = test::draw_case(seed);
    if (c->allocator.rfind("paged", 0) != 0) continue;
    for (const bool naive : {true, false}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + (naive ? " naive" : " fast"));
      std::unique_ptr<CheckedCache> check;
      test::observe_run(*c, naive, nullptr, nullptr,
                        [&](const core::MemoryLayout& layout,
                            const observe::Ledger& /*ledger*/) -> std::vector<core::Observer*> {
                          check = std::make_unique<CheckedCache>(c->workload, layout, 3);
                          return {check.get()};
                        });
      if (HasFailure()) return;
      if (check) widen(c->keep.evicts() ? most_dropping : most_whole, check->most);
    }
  }
  EXPECT_GT(most_whole.duplicates, 3);
  EXPECT_GT(most_whole.sharers, 3);
  EXPECT_EQ(most_whole.unreachable, 0) << "tables come back from their end, and blocks are handed out so";
  EXPECT_GT(most_dropping.unreachable, 3);
}

/// With layer groups, a block is useful only if every group has the blocks that a hit takes.
TEST(Overlays, CacheAndSharingInGroupsEqualAWalkOverEveryBlock) {
  core::PoolCounts most{};
  for (std::uint64_t seed = 1; std::cmp_less_equal(seed, test::random_cases(60, 25)); ++seed) {
    const auto c = test::draw_group_case(seed, true);
    if (c->workload.size() > 30) continue;  // every prompt is tried at every moment that is checked
    for (const bool naive : {true, false}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator + (naive ? " naive" : " fast"));
      std::unique_ptr<CheckedCache> check;
      test::observe_run(*c, naive, nullptr, nullptr,
                        [&](const core::MemoryLayout& layout,
                            const observe::Ledger& /*ledger*/) -> std::vector<core::Observer*> {
                          check = std::make_unique<CheckedCache>(c->workload, layout, 31);
                          return {check.get()};
                        });
      if (HasFailure()) return;
      if (check) widen(most, check->most);
    }
  }
  EXPECT_GT(most.duplicates, 3);
  EXPECT_GT(most.sharers, 3);
  EXPECT_GT(most.unreachable, 3);
}

TEST(Overlays, CacheAndSharingOfARealTrace) {
  const char* folder = std::getenv("KVPLAN_SHARED");
  const std::string path = (folder == nullptr ? std::string(KVPLAN_SOURCE_DIR) + "/../shared" : folder) +
                           std::string("/traces/mooncake_fast25_conversation.jsonl.zst");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no shared trace " << path;
  const traces::Trace trace = traces::open_trace(path).value();
  for (const bool drops : {false, true}) {
    std::vector<runs::Setting> settings;
    for (const std::string& text :
         {std::string("workload.limit=600"), std::string("memory.pool_blocks=4000"),
          std::string("workload.rate_scale=20"), std::string("memory.allocator=paged:block_tokens=128"),
          std::string("latency=affine:base_ns=12000000,token_ns=6000,context_ns=6"),
          std::string("eviction=") + (drops ? "window:window=2048" : "none")})
      settings.push_back(runs::parse_setting(text).value());
    std::unique_ptr<CheckedCache> check;
    runs::RunOptions options;
    options.extra_observers.push_back([&](const runs::Watched& watched) -> Result<core::Observer*> {
      check = std::make_unique<CheckedCache>(watched.workload, watched.ledger.layout(), 50);
      return check.get();
    });
    const auto result = runs::run_scenario(runs::resolve(settings).value(), trace, options);
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    if (HasFailure()) return;
    EXPECT_GT(check->most.sharers, 100);
    EXPECT_EQ(check->most.duplicates > 0, drops) << "here only what was dropped is computed twice";
    EXPECT_EQ(check->most.unreachable > 0, drops);
    const runs::MemorySummary& memory = *result.value().memory;
    EXPECT_GT(memory.mean_overlay_bytes[index(Overlay::kSavedBySharing)], 0);
    EXPECT_EQ(memory.mean_overlay_bytes[index(Overlay::kStrandedFragmented)], 0)
        << "any block serves any request";
    EXPECT_EQ(memory.mean_overlay_bytes[index(Overlay::kCachedUnreachable)] > 0, drops);
  }
}

// ---- why ----

/// A pool, and requests that write one token less than they have.
struct Bench {
  Bench(const std::string& component, std::int64_t pool_tokens, std::vector<std::int32_t> tokens) {
    workload.input = std::move(tokens);
    workload.output.assign(workload.input.size(), 1);
    workload.arrival.assign(workload.input.size(), SimTime{});
    choice.emplace(parse_component(component, "allocator", memory::allocator_descriptors()).value());
    const memory::AllocatorRequest request{
        .workload = &workload, .pool = {.tokens = pool_tokens}, .token_bytes = 1, .max_model_len = 1000};
    for (const bool slow : {false, true}) {
      const auto& entry = memory::allocator_entry(*choice);
      auto made = slow ? entry.make_model(*choice, request) : entry.make(*choice, request);
      (slow ? model : fast) = std::move(made).value();
    }
  }
  /// The reason of the refusal; kNone: the request was admitted.
  Refusal admit(std::int32_t request) {
    const RequestId r{request};
    const std::int64_t tokens = workload.input[index(r)];
    const bool done = fast->admit(r, test::lookup(*fast, r, tokens), tokens, tokens);
    EXPECT_EQ(done, model->admit(r, test::lookup(*model, r, tokens), tokens, tokens));
    return answer(done);
  }
  Refusal grow(std::int32_t request, std::int64_t tokens) {
    const RequestId r{request};
    const bool done = fast->grow(r, tokens);
    EXPECT_EQ(done, model->grow(r, tokens));
    return answer(done);
  }
  Refusal answer(bool done) {
    if (done) return Refusal::kNone;
    EXPECT_EQ(fast->refusal(), model->refusal());
    return fast->refusal();
  }
  void release(std::int32_t request) {
    const RequestId r{request};
    for (core::Allocator* a : {fast.get(), model.get()}) a->release(r, workload.input[index(r)]);
  }
  core::Workload workload;
  std::optional<Choice> choice;
  std::unique_ptr<core::Allocator> fast, model;
};

TEST(Refusals, ARangeIsTooLongForMemoryOrForItsPieces) {
  Bench b("contiguous:reserve=oracle", 10, {4, 2, 4, 6, 9, 8});
  for (const std::int32_t r : {0, 1, 2}) EXPECT_EQ(b.admit(r), Refusal::kNone);
  EXPECT_EQ(b.admit(3), Refusal::kTooShort) << "nothing is idle";
  b.release(0);
  b.release(2);  // idle: 4 and 4
  EXPECT_EQ(b.admit(3), Refusal::kFragmented);
  EXPECT_EQ(b.admit(5), Refusal::kFragmented) << "as much as is idle";
  EXPECT_EQ(b.admit(4), Refusal::kTooShort);
  b.release(1);
  EXPECT_EQ(b.admit(4), Refusal::kNone);
}

TEST(Refusals, CompactionLeavesOnlyWhatIsTooShort) {
  Bench b("contiguous:reserve=oracle,compact=on-refusal", 10, {4, 2, 4, 6, 9});
  for (const std::int32_t r : {0, 1, 2}) EXPECT_EQ(b.admit(r), Refusal::kNone);
  b.release(0);
  b.release(2);
  EXPECT_EQ(b.admit(4), Refusal::kTooShort);
  EXPECT_EQ(b.admit(3), Refusal::kNone);
}

TEST(Refusals, WhatTheBuddySystemRoundsUpIsNotAskedFor) {
  Bench b("buddy:reserve=oracle", 16, {5, 2, 3, 5, 7});
  EXPECT_EQ(b.admit(0), Refusal::kNone);  // 8
  EXPECT_EQ(b.admit(1), Refusal::kNone);  // 2: six are left, four of them in a row
  EXPECT_EQ(b.admit(3), Refusal::kFragmented) << "five are idle, eight are not";
  EXPECT_EQ(b.admit(4), Refusal::kTooShort);
  EXPECT_EQ(b.admit(2), Refusal::kNone);
}

TEST(Refusals, GrowthAsksForOneSlotInPlaceAndForAWholeRangeElse) {
  for (const bool in_place : {true, false}) {
    Bench b(std::string("growing:factor=1,step=1") + (in_place ? "" : ",in_place=false"), 12, {3, 3, 3});
    b.workload.output.assign(3, 9);
    for (const std::int32_t r : {0, 1, 2}) EXPECT_EQ(b.admit(r), Refusal::kNone);
    // Three slots are idle, after the last range; a copy needs four.
    EXPECT_EQ(b.grow(0, 4), in_place ? Refusal::kFragmented : Refusal::kTooShort);
    b.release(1);  // frees three more: six, in two pieces
    EXPECT_EQ(b.grow(0, 4), in_place ? Refusal::kNone : Refusal::kFragmented);
  }
}

TEST(Refusals, BlocksAreNeverFragmented) {
  Bench b("paged:block_tokens=4", 20, {8, 4, 13});  // four blocks, beside the null block
  EXPECT_EQ(b.admit(0), Refusal::kNone);
  EXPECT_EQ(b.admit(1), Refusal::kNone);
  EXPECT_EQ(b.admit(2), Refusal::kTooShort);
}

}  // namespace
}  // namespace kvplan
