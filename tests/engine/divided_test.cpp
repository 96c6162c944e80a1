// memory.allocator=divided: the effect of equal parts, worked out by hand, and compared with reserve=max.
#include <gtest/gtest.h>

#include "simulator/base/random.h"
#include "simulator/results/report.h"
#include "tests/support/plan_run.h"

namespace kvplan {
namespace {

using test::try_run;

constexpr const char* kSteps = "latency=affine:base_ns=1000,token_ns=0,context_ns=0";

/// 26 tokens in three parts of 8, with two left over. Four requests arrive together: one of 9 tokens fits no part, and
/// the last one waits until a part is free.
TEST(Divided, APartIsTakenWhole) {
  constexpr std::int64_t kToken = 131072;  // llama-3-8b
  traces::Trace trace;
  trace.arrival_ns = {0, 0, 0, 0, 0};
  trace.input_tokens = {3, 7, 2, 8, 5};
  trace.output_tokens = {2, 2, 6, 2, 1};
  for (const bool step_by_step : {false, true}) {
    const runs::RunResult r =
        try_run(trace,
                {"model=llama-3-8b", "memory.pool_tokens=26", "memory.allocator=divided:parts=3", kSteps},
                step_by_step)
            .value();
    EXPECT_EQ(r.completed, 4);
    EXPECT_EQ(r.rejected, 1) << "8 + 2 - 1 tokens are more than 8";
    EXPECT_EQ(r.preemptions, 0);
    // Requests 0 and 1 end after two steps; then request 4 comes, which takes one step. Request 2 takes six.
    EXPECT_EQ(ns_floor(r.records[1].finish.since_start), 2'000);
    EXPECT_EQ(ns_floor(r.records[4].first_scheduled.since_start), 2'000);
    EXPECT_EQ(ns_floor(r.records[4].finish.since_start), 3'000);
    EXPECT_EQ(ns_floor(r.makespan), 6'000);
    // All parts are in use from 0 on: in the second step they hold 12 written tokens, and will hold 4 + 8 + 7.
    const auto& peak = r.memory->peak_bytes;
    EXPECT_EQ(peak[index(observe::State::kInternal)], (4 + 0 + 1) * kToken);
    EXPECT_EQ(peak[index(observe::State::kPadding)], 2 * kToken);
    EXPECT_EQ(peak[index(observe::State::kFree)], 0);
  }
}

/// Parts of the longest request that the model allows give the same run as reserve=max in a pool of that size.
TEST(Divided, IsAReservationOfThePart) {
  Random random(11, "divided");
  traces::Trace trace;
  for (std::int64_t i = 0; i < 300; ++i) {
    trace.arrival_ns.push_back(i * 3'000);
    trace.input_tokens.push_back(static_cast<std::int32_t>(random.between(1, 90)));
    trace.output_tokens.push_back(static_cast<std::int32_t>(random.between(1, 30)));
  }
  for (const bool step_by_step : {false, true}) {
    const auto requests = [&](const std::string& allocator) {
      return runs::requests_csv(try_run(trace,
                                        {"model=llama-3-8b", "memory.pool_tokens=500",
                                         "engine.max_model_len=100", allocator, kSteps},
                                        step_by_step)
                                    .value());
    };
    EXPECT_EQ(requests("memory.allocator=divided:parts=5"),
              requests("memory.allocator=contiguous:reserve=max"));
    EXPECT_NE(requests("memory.allocator=divided:parts=5"), requests("memory.allocator=divided:parts=4"));
  }
}

TEST(Divided, APoolOfFewerTokensThanPartsIsRefused) {
  traces::Trace trace;
  trace.arrival_ns = {0};
  trace.input_tokens = {1};
  trace.output_tokens = {1};
  const auto run = try_run(
      trace, {"model=llama-3-8b", "memory.pool_tokens=4", "memory.allocator=divided:parts=5", kSteps}, false);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().to_string(),
            "memory: expected room for at least one token in each of 5 parts, found 4 tokens");
}

}  // namespace
}  // namespace kvplan
