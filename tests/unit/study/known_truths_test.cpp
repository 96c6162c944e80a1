// Results that are known in advance: unlimited memory, and twice the load on twice the replicas.
#include <gtest/gtest.h>

#include "simulator/base/random.h"
#include "simulator/run/run.h"
#include "tests/support/random_trace.h"

namespace kvplan::runs {
namespace {

RunResult run_of(const std::vector<std::string>& sets, const traces::Trace& trace) {
  std::vector<Setting> settings;
  for (const std::string& set : sets) settings.push_back(parse_setting(set).value());
  const auto scenario = resolve(settings);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  RunOptions options;
  options.request_memory = true;
  auto result = run_scenario(scenario.value(), trace, options);
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return std::move(result).value();
}

const std::string kSteps = "latency=affine:base_ns=900000,token_ns=700,context_ns=2";

/// Requests in this engine, memory and cache; every combination is a run.
const std::vector<std::vector<std::string>> kKinds{
    {"engine=vllm-v1:max_seqs=7", "memory.allocator=paged:block_tokens=4"},
    {"engine=vllm-v1:max_seqs=7,prefix_cache=false,token_budget=64"},
    {"engine=vllm-v1:max_seqs=7", "memory.allocator=contiguous:reserve=pow2"},
    {"engine=vllm-v1:max_seqs=7", "memory.allocator=growing"},
    {"engine=vllm-v1:max_seqs=7", "eviction=window:window=9,placement=holes"},
    {"engine=sglang:max_running_requests=7"},
};

TEST(KnownTruths, MemoryWithoutEndRefusesNothing) {
  Random random(31, "memory without end");
  for (const auto& kind : kKinds) {
    SCOPED_TRACE(kind.front() + " " + kind.back());
    const traces::Trace trace = test::random_trace(random, {.requests = 80, .hash_block = 16});
    std::vector<std::string> sets = kind;
    sets.insert(sets.end(), {kSteps, "memory.pool_tokens=40000000"});
    const RunResult run = run_of(sets, trace);
    EXPECT_GT(run.completed, 0);
    std::int64_t of_no_length = 0;
    for (std::size_t i = 0; i < trace.arrival_ns.size(); ++i)
      if (trace.input_tokens[i] == 0 || trace.output_tokens[i] == 0) ++of_no_length;
    EXPECT_EQ(run.rejected, of_no_length);
    EXPECT_EQ(run.completed + run.rejected, run.arrived);
    EXPECT_EQ(run.preemptions, 0);
    EXPECT_EQ(run.recomputed_tokens, 0);
    ASSERT_TRUE(run.memory);
    EXPECT_EQ(run.memory->mean_bytes[index(observe::State::kStranded)], 0);
    EXPECT_EQ(run.memory->peak_bytes[index(observe::State::kStranded)], 0);
  }
}

/// Each request twice, one directly after the other. REQUIRES: no prefix ids.
traces::Trace twice(const traces::Trace& trace) {
  traces::Trace out = trace;
  out.arrival_ns.clear();
  out.input_tokens.clear();
  out.output_tokens.clear();
  for (std::size_t i = 0; i < trace.arrival_ns.size(); ++i)
    for (int copy = 0; copy < 2; ++copy) {
      out.arrival_ns.push_back(trace.arrival_ns[i]);
      out.input_tokens.push_back(trace.input_tokens[i]);
      out.output_tokens.push_back(trace.output_tokens[i]);
    }
  return out;
}

TEST(KnownTruths, TwiceTheLoadOnTwiceTheReplicasIsTheSameForEveryRequest) {
  Random random(32, "twice the load");
  std::int64_t preempted = 0;
  for (const auto& kind : kKinds)
    for (const int replicas : {1, 3}) {
      SCOPED_TRACE(kind.front() + " " + kind.back() + " " + std::to_string(replicas));
      const traces::Trace trace = test::random_trace(random, {.requests = 80, .hash_block = 0});
      const auto run_on = [&](int count, const traces::Trace& load) {
        std::vector<std::string> sets = kind;
        sets.insert(sets.end(),
                    {kSteps, "memory.pool_tokens=240", "fleet.replicas=" + std::to_string(count)});
        return run_of(sets, load);
      };
      const RunResult once = run_on(replicas, trace);
      const RunResult doubled = run_on(2 * replicas, twice(trace));
      ASSERT_EQ(doubled.records.size(), 2 * once.records.size());
      for (std::size_t i = 0; i < doubled.records.size(); ++i) {
        const observe::RequestRecord& a = once.records[i / 2];
        const observe::RequestRecord& b = doubled.records[i];
        ASSERT_EQ(b.status, a.status) << i;
        ASSERT_EQ(b.first_token, a.first_token) << i;
        ASSERT_EQ(b.finish, a.finish) << i;
        ASSERT_EQ(b.preemptions, a.preemptions) << i;
      }
      preempted += once.preemptions;
      EXPECT_EQ(doubled.preemptions, 2 * once.preemptions);
      EXPECT_EQ(doubled.iterations, 2 * once.iterations);
      EXPECT_EQ(doubled.makespan.count, once.makespan.count);
      for (const auto summary : {&RunResult::ttft, &RunResult::tpot, &RunResult::e2e, &RunResult::queue}) {
        const auto &a = once.*summary, &b = doubled.*summary;
        ASSERT_EQ(a.has_value(), b.has_value());
        if (!a) continue;
        EXPECT_EQ(a->p50, b->p50);
        EXPECT_EQ(a->p99, b->p99);
        EXPECT_NEAR(a->mean, b->mean, 1e-12 * a->mean);
      }
    }
  EXPECT_GT(preempted, 0) << "memory was to be tight";
}

}  // namespace
}  // namespace kvplan::runs
