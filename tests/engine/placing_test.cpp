// The cost of placing, worked out by hand: a memory of 12 slots, first fit, and steps of 1000 ns. (The requests have
// the same lives as in the hand-made event log of moving ranges, tests/validator/hand_log.h.)
#include <gtest/gtest.h>

#include "simulator/results/report.h"
#include "simulator/run/run.h"

namespace kvplan {
namespace {

/// Moving eight tokens of 131,072 bytes (llama-3-8b) takes 2 ms: each is read and written.
constexpr const char* kGrowing = "memory.allocator=growing:compact=on-refusal,copy_bandwidth=1.048576e9";

runs::RunResult run(const traces::Trace& trace, const std::string& allocator, bool step_by_step,
                    const std::string& pool_tokens = "12", const std::string& step_ns = "1000") {
  std::vector<runs::Setting> settings;
  for (const std::string& text :
       {std::string("model=llama-3-8b"), "memory.pool_tokens=" + pool_tokens, allocator,
        "latency=affine:base_ns=" + step_ns + ",token_ns=0,context_ns=0"})
    settings.push_back(runs::parse_setting(text).value());
  runs::RunOptions options;
  options.step_by_step = step_by_step;
  return runs::run_scenario(runs::resolve(settings).value(), trace, options).value();
}

traces::Trace three_requests() {
  traces::Trace trace;
  trace.arrival_ns = {0, 0, 500'000};
  trace.input_tokens = {2, 2, 6};
  trace.output_tokens = {3, 2, 1};
  return trace;
}

TEST(Placing, CopiesAndSlidesTakeTheirTime) {
  constexpr std::int64_t kToken = 131072;
  for (const bool step_by_step : {false, true}) {
    const runs::RunResult r = run(three_requests(), kGrowing, step_by_step);
    // 0: prompts of 2 at [0, 2) and [2, 4). 1 us: both are full and copied, to [4, 8) and [8, 12), 1 ms for four
    // tokens. 1002 us: request 1 ended; request 0 (3 tokens) slides to 0, 0.75 ms, so that 6 slots fit. 1753 us: end.
    EXPECT_EQ(r.completed, 3);
    EXPECT_EQ(r.preemptions, 0);
    EXPECT_EQ(r.iterations, 3);
    EXPECT_EQ(ns_floor(r.records[1].finish.since_start), 1'002'000);
    EXPECT_EQ(ns_floor(r.records[2].first_scheduled.since_start), 1'002'000);
    EXPECT_EQ(ns_floor(r.makespan), 1'753'000);
    EXPECT_EQ(r.placing.copies, 2);
    EXPECT_EQ(r.placing.copied_bytes, 4 * kToken);
    EXPECT_EQ(r.placing.compactions, 1);
    EXPECT_EQ(r.placing.compaction_bytes, 3 * kToken);
    EXPECT_EQ(r.placing.delay, ticks_from_ns(1'750'000));
    EXPECT_DOUBLE_EQ(*r.placing.delay_fraction, 1750.0 / 1753.0);
    // Both ranges of both copies are held at the peak: 4 slots are read, 7 will be written, 1 is too many.
    const auto& peak = r.memory->peak_bytes;
    EXPECT_DOUBLE_EQ(r.memory->peak_time_s, 1e-6);
    EXPECT_EQ(peak[index(observe::State::kLive)], 4 * kToken);
    EXPECT_EQ(peak[index(observe::State::kReserved)], 7 * kToken);
    EXPECT_EQ(peak[index(observe::State::kInternal)], kToken);
    EXPECT_EQ(peak[index(observe::State::kFree)], 0);
  }
}

/// Pages of 64 KiB hold 32 tokens of llama-3-8b under its 64 tensors; mapping one under each takes 1280 ns. A prompt of
/// 31 tokens needs the first pages before it begins; tokens 33 and 65 need more, which are mapped during a step.
TEST(Placing, PagesAreMappedBesideTheStepBeforeForAsLongAsThatComputes) {
  traces::Trace trace;
  trace.arrival_ns = {0};
  trace.input_tokens = {31};
  trace.output_tokens = {35};
  struct Row {
    const char* overlap;
    const char* step_ns;
    std::int64_t steps_ns, delay_ns;
  };
  for (const Row& row : {Row{"true", "1000", 35'000, 1280 + 280 + 280}, Row{"true", "1280", 44'800, 1280},
                         Row{"true", "0", 0, 3 * 1280}, Row{"false", "1000", 35'000, 3 * 1280}}) {
    for (const bool step_by_step : {false, true}) {
      const runs::RunResult r =
          run(trace,
              std::string("memory.allocator=vmm:page_kib=64,map_us=0.02,unmap_us=0,overlap=") + row.overlap,
              step_by_step, "96", row.step_ns);
      EXPECT_EQ(r.iterations, 35);
      EXPECT_EQ(r.placing.delay, ticks_from_ns(row.delay_ns)) << row.overlap << " " << row.step_ns;
      EXPECT_EQ(ns_floor(r.makespan), row.steps_ns + row.delay_ns);
    }
  }
}

TEST(Placing, WithoutSlidingTheThirdWaits) {
  const runs::RunResult r =
      run(three_requests(), "memory.allocator=growing:copy_bandwidth=1.048576e9", false);
  EXPECT_EQ(r.placing.compactions, 0);
  EXPECT_EQ(ns_floor(r.records[2].first_scheduled.since_start), 1'003'000);
  EXPECT_GT(r.memory->mean_bytes[index(observe::State::kStranded)], 0);
}

/// A request alone at [4, 12), with eight tokens: there are 12 slots, but no range of nine besides the held one. The
/// request is preempted, so that none is running, and is admitted again at the same time, at slot 0.
TEST(Placing, AStepThatLeavesNoRequestIsFollowedByAnother) {
  traces::Trace trace;
  trace.arrival_ns = {0, 0};
  trace.input_tokens = {4, 4};
  trace.output_tokens = {1, 7};
  for (const bool step_by_step : {false, true}) {
    const runs::RunResult r = run(trace, "memory.allocator=growing", step_by_step);
    EXPECT_EQ(r.completed, 2);
    EXPECT_EQ(r.preemptions, 1);
    EXPECT_EQ(r.recomputed_tokens, 8);
    EXPECT_EQ(r.iterations, 7);
    EXPECT_EQ(ns_floor(r.makespan), 7'000);
    EXPECT_EQ(r.placing.copies, 0);
    // If it could slide down, it slides and grows in place.
    const runs::RunResult slid = run(trace, "memory.allocator=growing:compact=on-refusal", step_by_step);
    EXPECT_EQ(slid.preemptions, 0);
    EXPECT_EQ(slid.placing.compactions, 1);
  }
}

/// A copy needs both ranges at once: a request that could only restart again and again is rejected.
TEST(Placing, CopiesThatNeverFitAreRejected) {
  traces::Trace trace;
  trace.arrival_ns = {0, 0};
  trace.input_tokens = {3, 3};
  trace.output_tokens = {5, 4};  // 7 and 6 tokens in the end: 2 x 6 + 1 and 2 x 5 + 1 slots
  const runs::RunResult r = run(trace, "memory.allocator=growing:in_place=false,factor=1", false);
  EXPECT_EQ(r.records[0].status, observe::RequestStatus::kRejected);
  EXPECT_EQ(r.records[1].status, observe::RequestStatus::kCompleted);
  EXPECT_EQ(r.placing.copies, 3);
}

}  // namespace
}  // namespace kvplan
