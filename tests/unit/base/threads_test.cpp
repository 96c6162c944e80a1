#include "simulator/base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace kvplan {
namespace {

TEST(Threads, EveryPieceIsDoneOnce) {
  for (const int threads : {-1, 0, 1, 2, 7, 64}) {
    for (const std::size_t pieces : {0U, 1U, 2U, 1000U}) {
      std::vector<int> done(pieces, 0);  // each is written by one thread
      on_threads(threads, pieces, [&](std::size_t i) { ++done[i]; });
      EXPECT_EQ(done, std::vector<int>(pieces, 1)) << threads;
    }
  }
}

TEST(Threads, TheFirstOfThoseThatThrewIsThrownAndAllThreadsHaveEnded) {
  for (const int threads : {1, 4}) {
    std::atomic<int> running{0};
    const auto piece = [&](std::size_t i) {
      ++running;
      const bool throws = i == 3;
      --running;
      if (throws) throw std::runtime_error("piece " + std::to_string(i));
    };
    try {
      on_threads(threads, 50, piece);
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "piece 3");
    }
    EXPECT_EQ(running.load(), 0);
  }
}

}  // namespace
}  // namespace kvplan
