// Runs with requests that follow a replayed policy: the ledger compared with the policy's own token sets, counted runs
// with replays, and what a scenario may contain.
#include <gtest/gtest.h>
#include <map>

#include "simulator/attention/drops.h"
#include "simulator/attention/memory_recording.h"
#include "simulator/base/random.h"
#include "simulator/io/attention_json.h"
#include "simulator/results/report.h"
#include "simulator/run/run.h"
#include "simulator/study/inputs.h"
#include "tests/coupling/replay_cases.h"
#include "tests/coupling/settled.h"
#include "tests/support/observed_run.h"
#include "tests/unit/attention/inputs.h"

namespace kvplan {
namespace {

TEST(Replay, LedgerIsTheTokenLevelsOwnCount) {
  compare_with_token_level("A.json", "h2o:hh=4,recent=4", 8);
  compare_with_token_level("A.json", "h2o:hh=9,recent=3", 40);
  compare_with_token_level("E.json", "h2o:hh=4,recent=4", 8);
  compare_with_token_level("A.json", "tova:budget=8", 8);
  compare_with_token_level("E.json", "tova:budget=6", 20);
  for (const char* policy :
       {"snapkv:window=4,capacity=9", "ada-kv:window=4,capacity=9", "observed-attention:ratio=0.6",
        "keyformer", "keyformer-gptj", "scissorhands:budget=12,recent=2,history=10",
        "seed-threshold:threshold=0.1", "seed-proportional:budget=12", "seed-lfu:budget=8,theta=0.1",
        "seed-lru:budget=8", "random:budget=8", "oracle-suffix:budget=8", "oracle-exact:budget=8",
        "expr:score=accumulated/(1+age),budget=8"}) {
    compare_with_token_level("A.json", policy, 20);
    compare_with_token_level("E.json", policy, 7);
  }
}

/// The recordings next to the short trace of tests/golden/replay are the golden inputs.
TEST(Replay, GoldenRecordingsAreTheGoldenInputs) {
  for (const std::string name : {"A", "E"}) {
    const auto json = io::open_attention(kInputs + name + ".json");
    const auto kva =
        io::open_attention(std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/replay/" + name + ".kva");
    ASSERT_TRUE(json.ok() && kva.ok());
    const std::string policy = "h2o:hh=4,recent=4";
    EXPECT_EQ(attention::run_policy(*json.value(), policy, 8).retained,
              attention::run_policy(*kva.value(), policy, 8).retained);
    EXPECT_EQ(attention::run_policy(*json.value(), policy, 8).mass,
              attention::run_policy(*kva.value(), policy, 8).mass);
  }
}

std::string everything(const runs::RunResult& r) {
  return runs::report_json(r) + runs::requests_csv(r) + runs::timeline_csv(r);
}

/// Fast and naive runs, in tight pools with many preemptions: every output has the same bytes.
TEST(Replay, FastEqualsNaive) {
  const auto recording = random_recording(2, 3, 150);
  const auto trace = short_trace(40, 150, 300'000);
  std::int64_t preemptions = 0, evicted = 0, freed = 0;
  for (const std::string policy :
       {"h2o:hh=10,recent=12", "tova:budget=20", "h2o:hh=3,recent=2,score_rows=raw"})
    for (const std::string placement : {"holes", "reuse"})
      for (const std::string allocator :
           {"paged:block_tokens=8", "paged:block_tokens=1", "contiguous:reserve=pow2"}) {
        SCOPED_TRACE(policy + " " + placement + " " + allocator);
        const auto scenario =
            scenario_of({{"workload.attention", "r"},
                         {"eviction", policy + ",placement=" + placement},
                         {"memory.pool_tokens", "400"},
                         {"memory.allocator", allocator},
                         {"latency", "affine:base_ns=90000,token_ns=100,context_ns=10"},
                         {"engine", "vllm-v1:token_budget=64,max_seqs=12,max_model_len=300"}});
        auto options = options_with(recording);
        options.timeline_bins = 17;
        const auto fast = runs::run_scenario(scenario, trace, options);
        options.step_by_step = true;
        const auto naive = runs::run_scenario(scenario, trace, options);
        ASSERT_TRUE(fast.ok() && naive.ok()) << fast.error().to_string();
        EXPECT_EQ(everything(fast.value()), everything(naive.value()));
        EXPECT_EQ(fast.value().completed, 40);
        preemptions += fast.value().preemptions;
        evicted += fast.value().evicted_tokens;
        freed += fast.value().evicted_blocks;
        if (placement == "reuse") {
          EXPECT_EQ(fast.value().hole_bytes_peak, 0);
        }
      }
  EXPECT_GT(preemptions, 100);
  EXPECT_GT(evicted, 1000);
  EXPECT_GT(freed, 1000);
}

/// The kept tokens of a positional policy follow from lengths; a replay on a recording gives the same run.
TEST(Replay, EqualsFootprintBlockByBlock) {
  const auto recording = random_recording(2, 2, 700);
  struct Source final : core::CourseSource {
    Result<const core::Course*> begin(RequestId r, std::int64_t prompt) override {
      const std::int64_t final_tokens = workload->final_tokens(r);
      std::shared_ptr<const core::Drops> drops;
      if (recording == nullptr) {
        drops = std::make_shared<attention::IntervalDrops>(*policy.kind->traits(policy.choice).interval,
                                                           prompt, 1);
      } else {
        auto trajectory = store.get(recording, 0, prompt, attention::last_that_drops(final_tokens), policy);
        EXPECT_TRUE(trajectory.ok());
        drops = std::make_shared<attention::RecordedDrops>(trajectory.value());
      }
      const core::CourseShape shape{
          prompt,    final_tokens, layout.alloc_unit_tokens, layout.returns_alloc_units(),
          placement, reads_holes};
      courses[r] = core::Course::make(shape, drops);
      return courses[r].get();
    }
    void end(RequestId r) override { courses.erase(r); }
    explicit Source(attention::PolicyChoice p) : policy(std::move(p)) {}
    const core::Workload* workload{nullptr};
    std::shared_ptr<const attention::Recording> recording;
    attention::PolicyChoice policy;
    core::MemoryLayout layout;
    core::Placement placement{};
    bool reads_holes{false};
    attention::TrajectoryStore store{1 << 20};
    std::map<RequestId, std::unique_ptr<const core::Course>> courses;
  };
  int runs = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto c = test::draw_case(seed);
    if (!c->keep.evicts()) continue;
    c->take_courses();
    c->prefix_cache = false;
    c->workload.prefix = nullptr;
    const std::string text = c->keep.sink == 0 ? "window:window=" + std::to_string(c->keep.recent)
                                               : "streaming-llm:sink=" + std::to_string(c->keep.sink) +
                                                     ",recent=" + std::to_string(c->keep.recent);
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + text + " " + c->allocator);
    const std::string by_rule = test::observe_run(*c, false);
    c->keep = {};
    for (const auto placement : {core::Placement::kHoles, core::Placement::kReuse}) {
      std::array<std::string, 2> runs_by;
      for (const bool replay : {false, true}) {
        Source source(attention::parse_policy(text).value());
        source.workload = &c->workload;
        source.layout = c->make_allocator(false).value()->layout();
        source.placement = placement;
        source.reads_holes = c->reads_holes;
        if (replay) source.recording = recording;
        runs_by[replay ? 1 : 0] = test::observe_run(*c, false, &source);
      }
      ASSERT_EQ(runs_by[0], runs_by[1]);
      if (placement == core::Placement::kHoles) {
        ASSERT_EQ(runs_by[0], by_rule);
      }
    }
    ++runs;
  }
  EXPECT_GT(runs, 15);
}

/// Tokens recorded beyond a request are not its future: the run equals that of a recording that ends with the request.
TEST(Replay, BoundsKnowTheRequestAlone) {
  Random random(6, "beyond");
  std::vector<attention::Rows> rows;
  for (int layer = 0; layer < 2; ++layer)
    rows.push_back(attention::random_rows(random, 2, 60, attention::RowKind::kSmooth));
  const auto whole = attention::recording_of(rows);
  for (auto& layer : rows)
    for (auto& head : layer) head.resize(30);
  const auto cut = attention::recording_of(rows);
  for (const char* policy : {"oracle-suffix:budget=8", "oracle-exact:budget=8", "h2o:hh=4,recent=4"}) {
    const auto scenario = scenario_of({{"workload.attention", "one"},
                                       {"eviction", policy},
                                       {"memory.pool_tokens", "400"},
                                       {"memory.allocator", "paged:block_tokens=1"}});
    // Of two requests with one prompt, the end of the longer one is not the shorter one's future either.
    const auto run = [&](const std::shared_ptr<const attention::Recording>& recording,
                         const std::vector<std::array<std::int32_t, 2>>& lengths) {
      const auto result =
          runs::run_scenario(scenario, trace_of(lengths, 1'000'000'000), options_with(recording));
      EXPECT_TRUE(result.ok()) << result.error().to_string();
      return everything(result.value());
    };
    EXPECT_EQ(run(whole, {{20, 11}, {20, 4}, {9, 22}}), run(cut, {{20, 11}, {20, 4}, {9, 22}})) << policy;
  }
}

/// In several runs on several threads, each trajectory is computed once, and no report shows the difference.
TEST(Replay, RunsShareWhatAPolicyDoes) {
  const auto trace = short_trace(24, 40, 50'000);
  const auto recording = io::open_attention(kInputs + "A.json").value();
  const auto report_of = [&](const char* pool, const char* fleet, runs::RunOptions options) {
    const auto scenario = scenario_of({{"workload.attention", "one"},
                                       {"eviction", "h2o:hh=4,recent=4"},
                                       {"memory.pool_tokens", pool},
                                       {"fleet", fleet}});
    const auto result = runs::run_scenario(scenario, trace, options);
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    return everything(result.value());
  };
  auto shared = options_with(recording);
  shared.trajectories = std::make_shared<attention::TrajectoryStore>(std::int64_t{1} << 24);
  shared.threads = 3;
  std::int64_t computed = 0;
  for (const auto& [pool, fleet] :
       {std::pair{"4000", "replicas=3"}, std::pair{"2000", "replicas=3"}, std::pair{"4000", "replicas=1"}}) {
    EXPECT_EQ(report_of(pool, fleet, shared), report_of(pool, fleet, options_with(recording)))
        << pool << fleet;
    if (computed == 0) computed = shared.trajectories->computations();
    EXPECT_EQ(shared.trajectories->computations(), computed);
  }
  EXPECT_GT(computed, 0);
  EXPECT_LE(computed, 24);
}

/// The runs of a batch share trajectories through its inputs, which free them with the recording.
TEST(Replay, ABatchSharesItByItsInputs) {
  runs::InputReaders readers;
  readers.open_recording = [](const std::string&) { return io::open_attention(kInputs + "A.json"); };
  runs::Inputs inputs(std::move(readers));
  const auto trace = short_trace(12, 40, 50'000);
  for (const char* pool : {"4000", "2000"}) {
    const auto scenario = scenario_of(
        {{"workload.attention", "one"}, {"eviction", "h2o:hh=4,recent=4"}, {"memory.pool_tokens", pool}});
    EXPECT_TRUE(runs::run_scenario(scenario, trace, runs::RunOptions{inputs.openers()}).ok());
  }
  const auto store = inputs.openers().trajectories;
  ASSERT_NE(store, nullptr);
  EXPECT_GT(store->size(), 0);
  EXPECT_EQ(store->computations(), store->size());
  inputs.keep_only({});
  EXPECT_EQ(store->size(), 0);
}

}  // namespace
}  // namespace kvplan
