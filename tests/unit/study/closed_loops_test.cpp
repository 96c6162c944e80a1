// Sessions as closed loops: what each request waits for, checked on the records of runs.
#include "simulator/workload/closed_loops.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/results/report.h"
#include "simulator/run/run.h"
#include "simulator/workload/workload_builder.h"
#include "tests/unit/traces/support.h"
#include "traces/import/open_trace.h"
#include "traces/record/turns.h"

namespace kvplan::runs {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// Ten seconds per step, whatever the step computes.
const std::vector<Setting> kSlow{{"latency", "affine:base_ns=10000000000,token_ns=0,context_ns=0", "", 0},
                                 {"memory.pool_blocks", "100", "", 0}};

traces::Trace trace_of(std::vector<std::array<std::int64_t, 3>> rows,
                       traces::Waits waits) {  // s, e2e s, think s
  traces::Trace trace;
  for (const auto& [arrival, took, think] : rows) {
    trace.arrival_ns.push_back(arrival * kSecond);
    trace.e2e_ns.push_back(took < 0 ? -1 : took * kSecond);
    trace.think_ns.push_back(think < 0 ? -1 : think * kSecond);
    trace.input_tokens.push_back(4);
    trace.output_tokens.push_back(2);
  }
  trace.waits = std::move(waits);
  return trace;
}

RunResult run(const traces::Trace& trace, std::vector<Setting> more, bool step_by_step = false) {
  std::vector<Setting> settings = kSlow;
  settings.insert(settings.end(), more.begin(), more.end());
  const Result<Scenario> scenario = resolve(settings);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  RunOptions options;
  options.step_by_step = step_by_step;
  options.request_memory = true;
  Result<RunResult> result = run_scenario(scenario.value(), trace, options);
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return std::move(result).value();
}

std::vector<double> arrivals(const RunResult& result) {
  std::vector<double> out;
  for (const auto& record : result.records) out.push_back(seconds(record.arrival.since_start));
  return out;
}

/// Each request takes two steps of 10 s.
TEST(ClosedLoops, PausesStatedMeasuredAndUnknown) {
  const traces::Trace trace = trace_of(
      {{100, -1, -1}, {101, 3, 7}, {105, 1, -1}, {130, -1, -1}, {300, 5, -1}}, {{1, 2, 3, 4}, {0, 1, 2, 3}});
  const RunResult result = run(trace, {});
  // 0 ends at 20; 7 s later 1, which ends at 47; measured 105 - 104 = 1 s; 2 ends at 68 and the recorded gap from its
  // end is 130 - 106 = 24 s; 3 ends at 112, before its follower's recorded distance of 200 s to the start.
  EXPECT_EQ(arrivals(result), (std::vector<double>{0, 27, 48, 92, 200}));
  EXPECT_EQ(result.completed, 5);
  EXPECT_EQ(arrivals(run(trace, {{"workload.sessions", "open", "", 0}})),
            (std::vector<double>{0, 1, 5, 30, 200}));
  EXPECT_EQ(arrivals(run(trace, {{"workload.sessions", "stated:think_scale=0.5", "", 0}})),
            (std::vector<double>{0, 23.5, 44, 76, 200}));
  EXPECT_EQ(arrivals(run(trace, {{"workload.sessions", "stated:max_think_s=2", "", 0}})),
            (std::vector<double>{0, 22, 43, 65, 200}));
  // Start times are scaled, distances within a session are not.
  EXPECT_EQ(arrivals(run(trace, {{"workload.rate_scale", "2", "", 0}})), arrivals(result));
}

/// Five requests of two steps each, listed by their recorded arrivals.
TEST(ClosedLoops, ClientsShareTheList) {
  const traces::Trace trace = trace_of(
      {{100, -1, -1}, {101, 3, 7}, {105, 1, -1}, {103, -1, -1}, {300, 5, -1}}, {{1, 2, 3, 4}, {0, 1, 2, 3}});
  const auto with = [&](const std::string& sessions, std::vector<Setting> more = {}) {
    more.push_back({"workload.sessions", sessions, "", 0});
    const std::vector<double> fast = arrivals(run(trace, more));
    EXPECT_EQ(fast, arrivals(run(trace, more, true))) << sessions;
    return fast;
  };
  EXPECT_EQ(with("load-test:clients=1"), (std::vector<double>{0, 20, 60, 40, 80}));
  EXPECT_EQ(with("load-test:clients=2"), (std::vector<double>{0, 0, 20, 20, 40}));
  EXPECT_EQ(with("load-test:clients=2,think_s=2.5"), (std::vector<double>{0, 0, 22.5, 22.5, 45}));
  EXPECT_EQ(with("load-test:clients=9"), (std::vector<double>{0, 0, 0, 0, 0}));
  // One at a time with four clients: each end makes room for the next of the queue, and brings another into it.
  EXPECT_EQ(with("load-test:clients=4", {{"engine.max_seqs", "1", "", 0}}),
            (std::vector<double>{0, 0, 0, 0, 20}));
  // The list is one for all replicas.
  EXPECT_EQ(with("load-test:clients=2", {{"fleet.replicas", "2", "", 0}}),
            (std::vector<double>{0, 0, 20, 20, 40}));
}

TEST(ClosedLoops, AClientWhoseRequestIsRejectedSendsTheNext) {
  traces::Trace trace = trace_of({{0, -1, -1}, {1, -1, -1}, {2, -1, -1}}, {});
  trace.input_tokens[0] = 0;
  trace.input_tokens[1] = 0;
  EXPECT_EQ(arrivals(run(trace, {{"workload.sessions", "load-test:clients=1", "", 0}})),
            (std::vector<double>{0, 0, 0}));
}

TEST(ClosedLoops, ClientsHaveNoRate) {
  const std::vector<Setting> settings{{"workload.sessions", "load-test:clients=2", "", 0},
                                      {"workload.rate_scale", "2", "", 0}};
  const Result<Scenario> scenario = resolve(settings);
  ASSERT_FALSE(scenario.ok());
  EXPECT_EQ(scenario.error().to_string(),
            "workload.rate_scale: expected 1, because clients do not send at recorded times "
            "(workload.sessions); more clients give more load");
}

TEST(ClosedLoops, AFollowerOfARejectedTurnComesAllTheSame) {
  traces::Trace trace = trace_of({{0, -1, -1}, {1, -1, 3}}, {{1}, {0}});
  trace.input_tokens[0] = 0;
  EXPECT_EQ(arrivals(run(trace, {})), (std::vector<double>{0, 3}));
}

TEST(ClosedLoops, StartsScaleAndOthersKeepTheirDistance) {
  const traces::Trace trace = trace_of({{0, -1, -1}, {100, -1, -1}, {160, -1, -1}}, {{2}, {1}});
  EXPECT_EQ(arrivals(run(trace, {{"workload.rate_scale", "2", "", 0}})), (std::vector<double>{0, 50, 110}));
}

TEST(ClosedLoops, ASecondStartOfAGroupKeepsItsDistance) {
  // 2 waits for 0 and 1, which begin at the same time; 3 is independent.
  const traces::Trace trace =
      trace_of({{100, -1, -1}, {140, -1, -1}, {150, -1, 5}, {220, -1, -1}}, {{2, 2}, {0, 1}});
  EXPECT_EQ(arrivals(run(trace, {{"workload.rate_scale", "4", "", 0}})),
            (std::vector<double>{0, 40, 65, 30}));
}

TEST(ClosedLoops, SessionsThatStateNothing) {
  traces::Trace trace = trace_of({{0, 3, -1}, {5, 3, -1}, {6, 3, -1}}, {});
  trace.session = {0, 0, 1};
  trace.session_names = {"a", "b"};
  EXPECT_EQ(arrivals(run(trace, {})), (std::vector<double>{0, 5, 6}));
  EXPECT_EQ(arrivals(run(trace, {{"workload.sessions", "closed", "", 0}})), (std::vector<double>{0, 22, 6}));
}

TEST(ClosedLoops, ACircleIsAnErrorThatNamesIt) {
  const traces::Trace trace = trace_of({{0, -1, -1}, {1, -1, -1}, {2, -1, -1}}, {{1, 2}, {2, 1}});
  const Result<RunResult> result = run_scenario(resolve(kSlow).value(), trace, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().to_string(),
            "waits: requests wait for each other in a circle: request 1 before 2 before 1");
}

TEST(ClosedLoops, TimesThatDoNotFitAreErrors) {
  {
    std::vector<Setting> settings = kSlow;
    settings.push_back({"workload.sessions", "stated:think_scale=2", "", 0});
    const traces::Trace trace = trace_of({{0, -1, -1}, {1, -1, INT64_MAX / kSecond}}, {{1}, {0}});
    const Result<RunResult> result = run_scenario(resolve(settings).value(), trace, {});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message,
              "request 1 arrives after a pause of more than 52 days; a run holds 52 days");
  }
  // Each pause is in range, their sum is not.
  const traces::Trace trace =
      trace_of({{0, -1, -1}, {1, -1, 3'000'000}, {2, -1, 3'000'000}}, {{1, 2}, {0, 1}});
  for (const bool step_by_step : {false, true}) {
    RunOptions options;
    options.step_by_step = step_by_step;
    const Result<RunResult> result = run_scenario(resolve(kSlow).value(), trace, options);
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().message.find("52 days"), std::string::npos);
  }
}

/// Recorded agents: every request arrives exactly when those before it have ended and the pause is over.
TEST(ClosedLoops, RecordedSessions) {
  KVPLAN_NEED_SHARED();
  const traces::Trace trace =
      traces::open_trace(traces::testing::shared_traces() + "/claude_code_sessions_small.jsonl.gz", {}, {})
          .value();
  for (const char* replicas : {"1", "3"}) {
    const std::vector<Setting> settings{{"engine", "vllm-v1:max_model_len=1000000", "", 0},
                                        {"latency", "roofline", "", 0},
                                        {"memory.pool_blocks", "200000", "", 0},
                                        {"fleet.replicas", replicas, "", 0}};
    const RunResult result = run(trace, settings);
    const RunResult stepped = run(trace, settings, true);
    EXPECT_EQ(requests_csv(result), requests_csv(stepped));
    EXPECT_EQ(result.completed + result.rejected, trace.size());
    const traces::Turns turns = traces::turns_of(trace.waits, trace.size()).value();
    core::Workload workload = workload::build_workload(trace, {}, -1).value();
    const workload::LoopCounts counts = workload::close_loops(trace, {}, {}, workload).value();
    EXPECT_EQ(counts.waiting, trace.size() - 24);  // all but the first of each session
    EXPECT_GT(counts.stated, 900);
    EXPECT_GT(counts.measured, 0);
    std::vector<SimTime> earliest = workload.arrival;
    for (std::size_t k = 0; k < trace.waits.size(); ++k) {
      const auto& before = result.records[static_cast<std::size_t>(trace.waits.before[k])];
      const auto waiting = static_cast<std::size_t>(trace.waits.request[k]);
      const SimTime end = before.status == observe::RequestStatus::kRejected ? before.arrival : before.finish;
      earliest[waiting] = std::max(earliest[waiting], end + workload.think[waiting]);
    }
    for (std::size_t r = 0; r < earliest.size(); ++r) ASSERT_EQ(result.records[r].arrival, earliest[r]) << r;
  }
}

}  // namespace
}  // namespace kvplan::runs
