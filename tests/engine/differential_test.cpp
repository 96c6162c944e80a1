// Fast against naive on random problems: every observable number equal. And the ledger against a count that
// walks every cell after every event. A failure prints the seed, which makes the case again.
#include <gtest/gtest.h>

#include "tests/support/byte_case.h"
#include "tests/support/byte_walker.h"
#include "tests/support/cell_walker.h"
#include "tests/support/group_case.h"
#include "tests/support/group_walker.h"
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
  bool with_padding_;  // of what is held
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
        coverage.rehits, coverage.refused, coverage.in_runs, coverage.in_stretches, coverage.drops,
        coverage.let_go, coverage.copies, coverage.slides})
    EXPECT_GT(count, 100);
  EXPECT_GT(coverage.empty, 20);
  coverage.print();
}

/// Where no content is shared and nobody asks for block ids, the paged pool keeps its books by runs of blocks
/// and the ledger counts by request. Pools are small, so that what a preempted request left behind is handed
/// out again in part.
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
      ASSERT_FALSE(pool.value()->layout().block_ids);
    }
    ASSERT_EQ(observe_run(*c, true), observe_run(*c, false, nullptr, &coverage));
  }
  for (const std::int64_t count : {coverage.preempted, coverage.rehits, coverage.partial_rehits,
                                   coverage.refused, coverage.in_stretches, coverage.drops, coverage.let_go})
    EXPECT_GT(count, 100);
  coverage.print();
}

TEST(Differential, LedgerEqualsWalkingEveryCell) {
  for (std::int64_t seed = 1; seed <= test::random_cases(150); ++seed) {
    const auto c = draw_case(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    std::unique_ptr<test::CellWalker> walker;
    std::unique_ptr<Recount<test::CellWalker>> compare;
    observe_run(
        *c, true, nullptr, nullptr,
        [&](const core::MemoryLayout& layout, const observe::Ledger& ledger) -> std::vector<core::Observer*> {
          walker = std::make_unique<test::CellWalker>(c->workload, layout, c->keep);
          compare = std::make_unique<Recount<test::CellWalker>>(ledger, *walker, false);
          return {walker.get(), compare.get()};
        });
    if (HasFailure()) return;
  }
}

/// Pages under tensors and blocks of a caching allocator: quanta that are not of whole tokens, counted in bytes.
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

/// One pool for layers with windows and without, with and without ids of blocks.
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
       {coverage.rejected, coverage.preempted, coverage.refused, coverage.in_runs, coverage.let_go})
    EXPECT_GT(count, cases * 5 / 6);
  coverage.print();
}

/// The same where prefixes are found again, of others and of one's own.
TEST(Differential, FastEqualsNaiveInGroupsThatFindPrefixes) {
  Coverage coverage;
  for (std::int64_t seed = 1; seed <= test::random_cases(1200); ++seed) {
    const auto c = test::draw_group_case(static_cast<std::uint64_t>(seed), true);
    c->block_ids = seed % 2 == 0;  // they have some
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    ASSERT_EQ(observe_run(*c, true), observe_run(*c, false, nullptr, &coverage));
  }
  for (const std::int64_t count : {coverage.rejected, coverage.preempted, coverage.refused, coverage.in_runs,
                                   coverage.let_go, coverage.hits, coverage.rehits})
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
