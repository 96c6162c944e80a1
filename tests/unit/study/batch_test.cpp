// Batches: each number runs once, on any number of threads; errors and interruptions end them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "simulator/study/batch.h"

namespace kvplan::runs {
namespace {

/// Numbers 0..count-1; `run` may be replaced.
struct Fixture {
  explicit Fixture(int threads, std::int64_t count) {
    batch.threads = threads;
    batch.next = [this, count]() -> Result<std::optional<std::int64_t>> {
      return next < count ? std::optional(next++) : std::nullopt;
    };
    batch.run = [](std::int64_t number) {
      Outcome outcome{number};
      outcome.result.emplace().iterations = number * number;
      return outcome;
    };
    batch.done = [this](Outcome&& outcome) -> Status {
      ++handed[outcome.number];
      return Done{};
    };
    batch.idle = [] { return Status(Done{}); };
  }
  Batch batch;
  std::int64_t next{0};
  std::map<std::int64_t, int> handed;
};

class Batches : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, Batches, testing::Values(1, 2, 7));

TEST_P(Batches, HandOutEachOnce) {
  Fixture f(GetParam(), 1000);
  std::int64_t sum = 0;
  f.batch.done = [&](Outcome&& outcome) -> Status {
    ++f.handed[outcome.number];
    sum += outcome.result->iterations;
    return Done{};
  };
  ASSERT_TRUE(run_batch(f.batch).ok());
  ASSERT_EQ(f.handed.size(), 1000U);
  for (const auto& [number, times] : f.handed) EXPECT_EQ(times, 1) << number;
  EXPECT_EQ(sum, 999LL * 1000 * 1999 / 6);
  Fixture none(GetParam(), 0);
  EXPECT_TRUE(run_batch(none.batch).ok());
}

TEST_P(Batches, HoldFew) {
  Fixture f(GetParam(), 300);
  std::atomic<int> begun{0};
  int taken = 0;
  int most = 0;
  f.batch.run = [&](std::int64_t number) {
    ++begun;
    return Outcome{number};
  };
  f.batch.done = [&](Outcome&&) -> Status {
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // slower than the runs
    most = std::max(most, begun.load() - ++taken);
    return Done{};
  };
  ASSERT_TRUE(run_batch(f.batch).ok());
  EXPECT_LE(most, 4 * GetParam());
}

TEST_P(Batches, TheErrorOfATakerEndsIt) {
  Fixture f(GetParam(), 1000);
  f.batch.done = [&](Outcome&&) -> Status {
    return ++f.handed[0] == 5 ? Status(bad_input("full")) : Status(Done{});
  };
  EXPECT_EQ(run_batch(f.batch).error().to_string(), "full");
  EXPECT_EQ(f.handed[0], 5);
}

TEST_P(Batches, AnInterruptionKeepsWhatIsDone) {
  Fixture f(GetParam(), 1000);
  f.batch.run = [](std::int64_t number) {
    Outcome outcome{number};
    if (number >= 50) outcome.error = interrupted_error();
    return outcome;
  };
  const Status status = run_batch(f.batch);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::kInterrupted);
  EXPECT_EQ(f.handed.size(), 50U);
  EXPECT_EQ(f.handed.rbegin()->first, 49);
}

TEST_P(Batches, RunsWithoutMemoryRunAgainAlone) {
  Fixture f(GetParam(), 200);
  std::atomic<int> running{0};
  std::atomic<int> beside{0};
  std::array<std::atomic<int>, 200> runs{};
  f.batch.run = [&](std::int64_t number) {
    const int now = ++running;
    const bool again = ++runs[static_cast<std::size_t>(number)] == 2;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (again && (now != 1 || running.load() != 1)) ++beside;
    --running;
    Outcome outcome{number};
    if (number % 7 == 0 && !again) {
      outcome.error = bad_input("out of memory");
      outcome.starved = true;
    }
    return outcome;
  };
  std::int64_t failed = 0;
  f.batch.done = [&](Outcome&& outcome) -> Status {
    ++f.handed[outcome.number];
    failed += outcome.error ? 1 : 0;
    return Done{};
  };
  ASSERT_TRUE(run_batch(f.batch).ok());
  EXPECT_EQ(f.handed.size(), 200U);
  EXPECT_EQ(beside.load(), 0);
  EXPECT_EQ(failed, GetParam() == 1 ? 29 : 0);  // alone from the beginning: again would be the same
}

}  // namespace
}  // namespace kvplan::runs
