#include "simulator/base/ordered_work.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvplan {
namespace {

TEST(OrderedWork, ResultsComeInTheOrderOfPieces) {
  for (const int threads : {1, 2, 7}) {
    for (const std::size_t pieces : {0U, 1U, 500U}) {
      std::vector<std::size_t> came;
      const Status done = work_in_order<std::string>(
          threads, pieces, [](std::size_t i) { return Result<std::string>(std::to_string(i)); },
          [&](std::size_t i, std::string&& found) {
            EXPECT_EQ(found, std::to_string(i));
            came.push_back(i);
          });
      EXPECT_TRUE(done.ok());
      ASSERT_EQ(came.size(), pieces);
      for (std::size_t i = 0; i < pieces; ++i) EXPECT_EQ(came[i], i);
    }
  }
}

TEST(OrderedWork, TheErrorIsThatOfTheFirstPieceThatFails) {
  for (const int threads : {1, 2, 7}) {
    std::size_t most = 0;
    const Status done = work_in_order<int>(
        threads, 300,
        [](std::size_t i) -> Result<int> {
          if (i >= 40 && i % 10 == 0) return bad_input("piece " + std::to_string(i));
          return static_cast<int>(i);
        },
        [&](std::size_t i, int&&) { most = std::max(most, i); });
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().message, "piece 40") << threads;
    EXPECT_LT(most, 40U);
  }
}

}  // namespace
}  // namespace kvplan
