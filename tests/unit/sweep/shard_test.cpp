// Which cases a shard runs.
#include "simulator/sweep/shard.h"

#include <gtest/gtest.h>

namespace kvplan::sweep {
namespace {

TEST(Shard, RunsEveryNthCase) {
  EXPECT_EQ(cases_of({2, 3}, 8), (std::vector<std::int64_t>{1, 4, 7}));
  EXPECT_EQ(cases_of({3, 3}, 8), (std::vector<std::int64_t>{2, 5}));
  EXPECT_EQ(cases_of({9, 9}, 2), std::vector<std::int64_t>{});
}

TEST(Shard, ShardsHaveEachCaseOnce) {
  for (std::int64_t count = 1; count <= 9; ++count)
    for (const std::int64_t cases : {0, 1, 8, 59}) {
      std::vector<int> holders(static_cast<std::size_t>(cases));
      for (std::int64_t k = 1; k <= count; ++k)
        for (const std::int64_t number : cases_of({k, count}, cases))
          ++holders.at(static_cast<std::size_t>(number));
      EXPECT_EQ(holders, std::vector<int>(static_cast<std::size_t>(cases), 1)) << cases << " of " << count;
    }
}

}  // namespace
}  // namespace kvplan::sweep
