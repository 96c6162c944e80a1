// The table of holders at any moment: every column is compared with the ledger at moments of a run, for every kind of
// memory, with sharing, dropped tokens, copies, compaction and layer groups. Requests that follow courses: see
// course_run_test.cpp.
#include "simulator/observe/holders.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/byte_case.h"
#include "tests/support/group_case.h"
#include "tests/support/holder_tables.h"
#include "tests/support/random_cases.h"

namespace kvplan {
namespace {

using observe::HeldRow;
using test::check_tables;

TEST(Holders, EveryColumnIsTheLedgersAtThatMoment) {
  test::Seen seen;
  for (std::uint64_t seed = 1; std::cmp_less_equal(seed, test::random_cases(250, 160)); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto c = test::draw_case(seed);
    Random random(seed, "holders");
    check_tables(*c, random, seen);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (std::uint64_t seed = 1; std::cmp_less_equal(seed, test::random_cases(100, 40)); ++seed) {
    SCOPED_TRACE("bytes, seed " + std::to_string(seed));
    const test::ByteCase c = test::draw_byte_case(seed);
    Random random(seed, "holders");
    check_tables(*c.run, random, seen);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (std::uint64_t seed = 1; std::cmp_less_equal(seed, test::random_cases(150, 60)); ++seed) {
    SCOPED_TRACE("groups, seed " + std::to_string(seed));
    const auto c = test::draw_group_case(seed, seed % 2 == 0);
    Random random(seed, "holders");
    check_tables(*c, random, seen);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (const auto kind : {HeldRow::Kind::kBlock, HeldRow::Kind::kRange, HeldRow::Kind::kTable,
                          HeldRow::Kind::kCached, HeldRow::Kind::kIdle})
    EXPECT_GT(seen.rows[kind], 100) << static_cast<int>(kind);
  EXPECT_GT(seen.rows[HeldRow::Kind::kCopied], 0);
  EXPECT_GT(seen.rows[HeldRow::Kind::kPadding], 100);
  EXPECT_GT(seen.shared_rows, 20);
  EXPECT_GT(seen.kinds, 200);
}

}  // namespace
}  // namespace kvplan
