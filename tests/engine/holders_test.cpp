// Who holds what at any moment: every column of the table against the ledger at the moments that a run has, for every
// kind of memory, with sharing, dropped tokens, copies and compaction. (The table itself stops the program where a
// column differs from the ledger; here is that it is of the right moment.)
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "simulator/observe/holders.h"
#include "tests/support/byte_case.h"
#include "tests/support/observed_run.h"

namespace kvplan {
namespace {

using observe::HeldRow;
using observe::Holders;

/// The ledger's bytes at each settled moment, the last of those at one time.
class Moments final : public core::Observer {
 public:
  explicit Moments(const observe::Ledger& ledger) : ledger_(ledger) { bytes[SimTime{}] = ledger.bytes(); }
  void on_pass_end(const core::Pass& pass) override { bytes[pass.time] = ledger_.bytes(); }
  void on_settled(SimTime time, const core::PoolCounts& pool) override {
    bytes[time] = ledger_.bytes();
    shared = std::max(shared, pool.sharers);
  }
  std::map<SimTime, observe::StateCounts> bytes;
  std::int64_t shared{0};

 private:
  const observe::Ledger& ledger_;
};

struct Seen {
  std::map<HeldRow::Kind, std::int64_t> rows;
  std::int64_t shared_rows{0};
};

/// Runs the case and takes tables at several times; between settled moments too.
void check_tables(const test::RandomCase& c, Random& random, Seen& seen) {
  std::unique_ptr<Moments> moments;
  test::observe_run(c, true, nullptr, nullptr,
                    [&](const core::MemoryLayout& /*layout*/,
                        const observe::Ledger& ledger) -> std::vector<core::Observer*> {
                      moments = std::make_unique<Moments>(ledger);
                      return {moments.get()};
                    });
  if (!moments) return;
  const std::int64_t end = moments->bytes.rbegin()->first.since_start.count;
  std::vector<SimTime> asked{SimTime{}, moments->bytes.rbegin()->first, SimTime{Ticks{end + 1}}};
  for (int i = 0; i < 5; ++i) asked.push_back(SimTime{Ticks{random.between(0, end)}});
  std::vector<std::unique_ptr<Holders>> tables;
  test::observe_run(c, true, nullptr, nullptr,
                    [&](const core::MemoryLayout& /*layout*/,
                        const observe::Ledger& ledger) -> std::vector<core::Observer*> {
                      std::vector<core::Observer*> observers;
                      for (const SimTime t : asked) {
                        tables.push_back(std::make_unique<Holders>(c.workload, ledger, c.keep, t));
                        observers.push_back(tables.back().get());
                      }
                      return observers;
                    });
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto at = std::prev(moments->bytes.upper_bound(asked[i]));
    ASSERT_EQ(tables[i]->settled_at(), at->first);
    observe::StateCounts sum{};
    std::set<std::pair<HeldRow::Kind, BlockId>> once;
    for (const HeldRow& row : tables[i]->rows()) {
      ASSERT_TRUE(once.insert({row.kind, row.id}).second);
      ASSERT_TRUE(std::is_sorted(row.holders.begin(), row.holders.end()));
      const bool held = row.kind <= HeldRow::Kind::kCopied;
      ASSERT_EQ(held, !row.holders.empty());
      ++seen.rows[row.kind];
      if (row.holders.size() > 1) ++seen.shared_rows;
      for (std::size_t s = 0; s < observe::kStates; ++s) sum[s] += row.bytes[s];
    }
    ASSERT_EQ(sum, at->second);
  }
}

TEST(Holders, EveryColumnIsTheLedgersAtThatMoment) {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= 250; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto c = test::draw_case(seed);
    Random random(seed, "holders");
    check_tables(*c, random, seen);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("bytes, seed " + std::to_string(seed));
    const test::ByteCase c = test::draw_byte_case(seed);
    Random random(seed, "holders");
    check_tables(*c.run, random, seen);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (const auto kind : {HeldRow::Kind::kBlock, HeldRow::Kind::kRange, HeldRow::Kind::kTable,
                          HeldRow::Kind::kCached, HeldRow::Kind::kIdle})
    EXPECT_GT(seen.rows[kind], 100) << static_cast<int>(kind);
  EXPECT_GT(seen.rows[HeldRow::Kind::kCopied], 0);
  EXPECT_GT(seen.rows[HeldRow::Kind::kPadding], 100);
  EXPECT_GT(seen.shared_rows, 20);
}

}  // namespace
}  // namespace kvplan
