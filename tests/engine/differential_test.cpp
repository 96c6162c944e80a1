// Fast runs compared with naive runs on random problems: every observable number is equal. The ledger is compared with
// a count that walks every cell after every event. A failure prints the seed, which recreates the case.
#include <gtest/gtest.h>

#include <set>

#include "simulator/observe/read_sums.h"
#include "tests/support/byte_case.h"
#include "tests/support/byte_walker.h"
#include "tests/support/cell_walker.h"
#include "tests/support/group_case.h"
#include "tests/support/group_walker.h"
#include "tests/support/ids.h"
#include "tests/support/observed_run.h"
#include "tests/support/random_cases.h"

namespace kvplan {
namespace {

using test::Coverage;
using test::draw_case;
using test::observe_run;

/// Compares the walker's count with the ledger's after every event that settles something.
template <class Walker>
class Recount final : public core::Observer {
 public:
  Recount(const observe::Ledger& ledger, const Walker& walker, bool with_padding)
      : ledger_(ledger), walker_(walker), with_padding_(with_padding) {}
  void on_pass_end(const core::Pass& pass) override { compare("pass", pass.time); }
  void on_settled(SimTime time, const core::PoolCounts& /*pool*/) override { compare("settled", time); }
  int differences{0};

 private:
  void compare(const char* when, SimTime time) {
    if (differences > 0) return;
    const observe::StateCounts walked = walker_.count();
    for (std::size_t s = 0; s < observe::kStates; ++s) {
      if ((s == index(observe::State::kPadding) && !with_padding_) || walked[s] == ledger_.cells()[s])
        continue;
      ++differences;
      ADD_FAILURE() << when << " at tick " << time.since_start.count << ": " << observe::kStateNames[s]
                    << " walked " << walked[s] << ", ledger " << ledger_.cells()[s];
    }
  }
  const observe::Ledger& ledger_;
  const Walker& walker_;
  bool with_padding_;  // of held memory
};

TEST(Differential, FastEqualsNaive) {
  Coverage coverage;
  for (std::int64_t seed = 1; seed <= test::random_cases(1500, 900); ++seed) {
    const auto c = draw_case(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    ASSERT_EQ(observe_run(*c, true), observe_run(*c, false, nullptr, &coverage));
  }
  for (const std::int64_t count :
       {coverage.caused, coverage.waited_in_time, coverage.rejected, coverage.preempted, coverage.hits,
        coverage.rehits, coverage.refused, coverage.in_runs, coverage.in_decode_runs, coverage.drops,
        coverage.blocks_freed, coverage.copies, coverage.slides})
    EXPECT_GT(count, 100);
  EXPECT_GT(coverage.empty, 20);
  coverage.print();
}

/// If no content is shared and no observer needs block ids, the paged pool counts runs of blocks, and the ledger counts
/// by request. Pools are small, so some of the blocks that a preempted request left in the cache are allocated again
/// before it returns.
TEST(Differential, FastWithoutBlockIdsEqualsNaive) {
  Coverage coverage;
  for (std::int64_t seed = 1; seed <= test::random_cases(3000); ++seed) {
    const auto c = draw_case(static_cast<std::uint64_t>(seed));
    if (c->pool.blocks < 0) continue;
    c->workload.prefix = nullptr;
    c->prefix_cache = seed % 8 != 0;
    c->block_ids = false;
    if (seed % 2 == 0) c->pool.blocks = std::max<std::int64_t>(c->pool.blocks / 2, 2);
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    const auto pool = c->make_allocator(false);
    if (pool) {
      ASSERT_FALSE(pool.value()->layout().block_ids());
    }
    ASSERT_EQ(observe_run(*c, true), observe_run(*c, false, nullptr, &coverage));
  }
  for (const std::int64_t count :
       {coverage.preempted, coverage.rehits, coverage.partial_rehits, coverage.refused,
        coverage.in_decode_runs, coverage.drops, coverage.blocks_freed})
    EXPECT_GT(count, 100);
  coverage.print();
}

void expect_ledger_equals_cells(const test::RandomCase& c) {
  std::unique_ptr<test::CellWalker> walker;
  std::unique_ptr<Recount<test::CellWalker>> compare;
  observe_run(
      c, true, nullptr, nullptr,
      [&](const core::MemoryLayout& layout, const observe::Ledger& ledger) -> std::vector<core::Observer*> {
        walker = std::make_unique<test::CellWalker>(c.workload, layout, c.keep);
        compare = std::make_unique<Recount<test::CellWalker>>(ledger, *walker, false);
        return {walker.get(), compare.get()};
      });
}

TEST(Differential, LedgerEqualsWalkingEveryCell) {
  for (std::int64_t seed = 1; seed <= test::random_cases(150); ++seed) {
    const auto c = draw_case(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    expect_ledger_equals_cells(*c);
    if (HasFailure()) return;
  }
}

/// Situations that occur only with priorities.
class Precedence final : public core::Observer {
 public:
  void on_pass_begin(SimTime /*time*/) override { granted_.clear(); }
  void on_decode_grants(std::span<const core::DecodeGrant> grants) override {
    for (const core::DecodeGrant& grant : grants) granted_.insert(grant.request);
  }
  void on_grant(const core::Grant& grant) override { granted_.insert(grant.request); }
  void on_preempt(const core::Release& release) override {
    undone += granted_.contains(release.request) ? 1 : 0;
  }
  void on_hold_back(RequestId /*request*/) override { ++held_back; }
  void on_pass_end(const core::Pass& pass) override {
    idle += pass.load.requests == 0 && pass.running > 0 ? 1 : 0;
  }
  [[nodiscard]] bool follows_decode_runs() const override { return true; }
  std::int64_t undone{0}, held_back{0}, idle{0};

 private:
  std::set<RequestId> granted_;  // blocks granted in this pass
};

/// A random case with priorities, in memory in which requests stay where they are.
std::unique_ptr<test::RandomCase> draw_priority_case(std::int64_t seed,
                                                     std::vector<std::int32_t>& priorities) {
  auto c = draw_case(static_cast<std::uint64_t>(seed));
  if (c->pool.blocks < 0) return nullptr;
  Random random(static_cast<std::uint64_t>(seed), "priorities");
  priorities.clear();
  for (std::int64_t i = 0; i < c->workload.size(); ++i)
    priorities.push_back(static_cast<std::int32_t>(random.chance(1, 2) ? -1 : random.between(0, 3)));
  if (!random.chance(1, 10)) c->workload.priority = priorities;
  c->scheduler.by_priority = true;
  c->keep = {};
  if (random.chance(1, 4))
    c->reads = {.fetched = random.between(1, 60), .ranked_beyond = random.between(0, 60)};
  if (random.chance(1, 4) && c->prefix_cache) c->replacement = random.chance(1, 2) ? "lru" : "s3fifo";
  if (random.chance(1, 2)) c->pool.blocks = std::max<std::int64_t>(c->pool.blocks / 2, 2);
  return c;
}

/// Everything that is inserted into the cache and evicted, in order, and the tokens that steps read for decoding.
class Told final : public core::Observer {
 public:
  void on_insert(RequestId r, std::int64_t logical, BlockId block) override { put('p', r, logical, block); }
  void on_evict_block(BlockId block) override { put('r', block); }
  void on_hold_back(RequestId r) override { put('h', r); }
  void on_chunk(const core::Chunk& c) override { put('c', c.request, c.computed, c.tokens); }
  void on_preempt(const core::Release& r) override { put('-', r.request, r.written, r.alloc_units); }
  [[nodiscard]] bool wants_insertions() const override { return true; }
  std::string text;

 private:
  template <class... Numbers>
  void put(char what, Numbers... numbers) {
    text += what;
    ((text += std::to_string(test::plain(numbers)) + ' '), ...);
  }
};

TEST(Differential, FastEqualsNaiveByPriority) {
  Coverage coverage;
  Precedence seen;
  const std::int64_t cases = test::random_cases(3000, 600);
  for (std::int64_t seed = 1; seed <= cases; ++seed) {
    std::vector<std::int32_t> priorities;
    const auto c = draw_priority_case(seed, priorities);
    if (c == nullptr) continue;
    if (seed % 3 == 0) {
      c->workload.prefix = nullptr;
      c->block_ids = false;
      c->replacement.clear();
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    observe::ReadSums slow_reads, fast_reads;
    Told slow_told, fast_told;
    const bool tells = seed % 3 == 1;
    const auto beside = [&](observe::ReadSums& reads, Told& told, bool counts) {
      return [&, counts](const core::MemoryLayout&, const observe::Ledger&) {
        std::vector<core::Observer*> out{&reads};
        if (tells) out.push_back(&told);
        if (counts) out.push_back(&seen);
        return out;
      };
    };
    ASSERT_EQ(observe_run(*c, true, nullptr, nullptr, beside(slow_reads, slow_told, false)),
              observe_run(*c, false, nullptr, &coverage, beside(fast_reads, fast_told, true)));
    ASSERT_EQ(slow_told.text, fast_told.text);
    ASSERT_TRUE(slow_reads.sums().seen == fast_reads.sums().seen &&
                slow_reads.sums().unread == fast_reads.sums().unread &&
                slow_reads.sums().ranked == fast_reads.sums().ranked);
  }
  for (const std::int64_t count : {coverage.preempted, coverage.hits, coverage.rehits, coverage.refused,
                                   coverage.in_runs, coverage.in_decode_runs, seen.undone, seen.held_back})
    EXPECT_GT(count, cases / 30);
  EXPECT_GT(seen.idle, 0);
  std::printf("undone %lld; held back %lld; passes without a step %lld\n",
              static_cast<long long>(seen.undone), static_cast<long long>(seen.held_back),
              static_cast<long long>(seen.idle));
}

/// If all priorities are equal, running requests are in order of arrival: the latest arrival is the youngest, and a
/// preempted request goes before all others.
TEST(Differential, ByPriorityWithoutPrioritiesIsFirstComeFirstServed) {
  Coverage coverage;
  for (std::int64_t seed = 1; seed <= test::random_cases(600, 150); ++seed) {
    std::vector<std::int32_t> priorities;
    const auto c = draw_priority_case(seed, priorities);
    if (c == nullptr) continue;
    c->workload.priority = {};
    c->workload.turns = {};
    c->replacement.clear();  // a policy gets contents at the end of the pass, not one request after the other
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    const std::string by_priority = observe_run(*c, false);
    c->scheduler.by_priority = false;
    ASSERT_EQ(by_priority, observe_run(*c, seed % 2 == 0, nullptr, &coverage));
  }
  EXPECT_GT(coverage.preempted, 50);
  EXPECT_GT(coverage.rehits, 20);
}

TEST(Differential, ByPriorityTheLedgerEqualsWalkingEveryCell) {
  for (std::int64_t seed = 1; seed <= test::random_cases(150); ++seed) {
    std::vector<std::int32_t> priorities;
    const auto c = draw_priority_case(seed, priorities);
    if (c == nullptr) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    expect_ledger_equals_cells(*c);
    if (HasFailure()) return;
  }
}

/// Pages under tensors and blocks of a caching allocator: allocation units that are not whole tokens, counted in bytes.
/// The fast run must equal the naive one.
TEST(Differential, FastEqualsNaiveInBytes) {
  Coverage coverage;
  for (std::int64_t seed = 1; seed <= test::random_cases(500, 250); ++seed) {
    const test::ByteCase c = test::draw_byte_case(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c.run->allocator);
    ASSERT_EQ(observe_run(*c.run, true), observe_run(*c.run, false, nullptr, &coverage));
  }
  for (const std::int64_t count :
       {coverage.rejected, coverage.preempted, coverage.refused, coverage.in_runs, coverage.drops})
    EXPECT_GT(count, 100);
  coverage.print();
}

TEST(Differential, LedgerEqualsWalkingEveryByte) {
  for (std::int64_t seed = 1; seed <= test::random_cases(150); ++seed) {
    const test::ByteCase c = test::draw_byte_case(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c.run->allocator);
    std::unique_ptr<test::ByteWalker> walker;
    std::unique_ptr<Recount<test::ByteWalker>> compare;
    observe_run(
        *c.run, true, nullptr, nullptr,
        [&](const core::MemoryLayout& layout, const observe::Ledger& ledger) -> std::vector<core::Observer*> {
          walker = std::make_unique<test::ByteWalker>(c.run->workload, layout, c.run->keep, c.rows);
          compare = std::make_unique<Recount<test::ByteWalker>>(ledger, *walker, true);
          return {walker.get(), compare.get()};
        });
    if (HasFailure()) return;
  }
}

/// One pool for layers with windows and layers without, with and without block ids.
TEST(Differential, FastEqualsNaiveInGroups) {
  Coverage coverage;
  const std::int64_t cases = test::random_cases(1200);
  for (std::int64_t seed = 1; seed <= cases; ++seed) {
    const auto c = test::draw_group_case(static_cast<std::uint64_t>(seed));
    c->block_ids = seed % 2 == 0;
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    ASSERT_EQ(observe_run(*c, true), observe_run(*c, false, nullptr, &coverage));
  }
  for (const std::int64_t count :
       {coverage.rejected, coverage.preempted, coverage.refused, coverage.in_runs, coverage.blocks_freed})
    EXPECT_GT(count, cases * 5 / 6);
  coverage.print();
}

/// The same with prefix hits, on blocks of other requests and on a request's own.
TEST(Differential, FastEqualsNaiveInGroupsThatFindPrefixes) {
  Coverage coverage;
  for (std::int64_t seed = 1; seed <= test::random_cases(1200); ++seed) {
    const auto c = test::draw_group_case(static_cast<std::uint64_t>(seed), true);
    c->block_ids = seed % 2 == 0;  // allocators with prefix hits have ids
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    ASSERT_EQ(observe_run(*c, true), observe_run(*c, false, nullptr, &coverage));
  }
  for (const std::int64_t count : {coverage.rejected, coverage.preempted, coverage.refused, coverage.in_runs,
                                   coverage.blocks_freed, coverage.hits, coverage.rehits})
    EXPECT_GT(count, 500);
  EXPECT_GT(coverage.partial_rehits, 50);
  coverage.print();
}

TEST(Differential, LedgerEqualsWalkingEveryGroup) {
  const std::int64_t cases = test::random_cases(240);
  std::int64_t leaves = 0;
  std::int64_t shared = 0;
  for (std::int64_t seed = 1; seed <= cases; ++seed) {
    const auto c = test::draw_group_case(static_cast<std::uint64_t>(seed), seed % 2 == 0);
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    std::unique_ptr<test::GroupWalker> walker;
    std::unique_ptr<Recount<test::GroupWalker>> compare;
    observe_run(
        *c, true, nullptr, nullptr,
        [&](const core::MemoryLayout& layout, const observe::Ledger& ledger) -> std::vector<core::Observer*> {
          walker = std::make_unique<test::GroupWalker>(c->workload, layout);
          compare = std::make_unique<Recount<test::GroupWalker>>(ledger, *walker, true);
          return {walker.get(), compare.get()};
        });
    if (HasFailure()) return;
    if (walker) leaves += walker->leaves();
    if (walker) shared += walker->shared();
  }
  EXPECT_GT(leaves, cases * 25 / 6);
  EXPECT_GT(shared, cases * 25 / 6);
}

}  // namespace
}  // namespace kvplan
