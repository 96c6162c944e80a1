// Runs with requests that follow a replayed policy: the ledger compared with the token level's own sets, footprint
// with replay, and what a scenario may ask for.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "simulator/attention/drops.h"
#include "simulator/attention/memory_recording.h"
#include "simulator/base/random.h"
#include "simulator/io/attention_json.h"
#include "simulator/results/report.h"
#include "simulator/run/run.h"
#include "simulator/study/inputs.h"
#include "tests/coupling/settled.h"
#include "tests/support/observed_run.h"
#include "tests/unit/attention/inputs.h"

namespace kvplan {
namespace {

using observe::State;

const std::string kInputs = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/policies/inputs/";

traces::Trace trace_of(const std::vector<std::array<std::int32_t, 2>>& lengths, std::int64_t gap_ns) {
  traces::Trace trace;
  std::int64_t now = 0;
  for (const auto& [input, output] : lengths) {
    trace.arrival_ns.push_back(now);
    trace.input_tokens.push_back(input);
    trace.output_tokens.push_back(output);
    now += gap_ns;
  }
  trace.digest = "test";
  return trace;
}

runs::Scenario scenario_of(std::vector<std::pair<std::string, std::string>> values) {
  std::vector<runs::Setting> settings;
  for (auto& [path, text] : values) settings.push_back({path, text, {}, 0});
  const auto scenario = runs::resolve(settings);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  return scenario.value();
}

runs::RunOptions options_with(std::shared_ptr<const attention::Recording> recording = nullptr) {
  runs::RunOptions options;
  options.request_memory = true;
  options.open_recording = [recording](const std::string& path) {
    return recording == nullptr ? io::open_attention(path)
                                : Result<std::shared_ptr<const attention::Recording>>(recording);
  };
  return options;
}

/// One request over a whole recording: what the token level keeps is what is live, block by block.
void compare_with_token_level(const std::shared_ptr<const attention::Recording>& recording,
                              const std::string& policy, std::int64_t prompt) {
  const std::int64_t tokens = recording->info().sequences[0].tokens;
  const auto outcome = attention::run_policy(*recording, policy, prompt);
  constexpr std::int64_t kBlock = 4;
  const auto scenario = scenario_of({{"workload.attention", "one"},
                                     {"eviction", policy},
                                     {"memory.pool_tokens", "400"},
                                     {"memory.allocator", "paged:block_tokens=4"}});
  const auto trace =
      trace_of({{{static_cast<std::int32_t>(prompt), static_cast<std::int32_t>(tokens + 1 - prompt)}}}, 0);
  std::optional<Settled> settled;
  auto options = options_with(recording);
  options.step_by_step = true;  // a span for each token
  options.extra_observers.push_back([&](const runs::Watched& watched) -> Result<core::Observer*> {
    return static_cast<core::Observer*>(&settled.emplace(watched.ledger, prompt));
  });
  const auto result = runs::run_scenario(scenario, trace, options);
  ASSERT_TRUE(result.ok()) << result.error().to_string();

  const auto& info = recording->info();
  const std::int64_t heads = info.query_heads;
  const std::int64_t cell = std::int64_t{info.key_size + info.value_size} * info.cache_element_bytes;
  const auto parsed = attention::parse_policy(policy);
  ASSERT_TRUE(parsed.ok());
  const std::int64_t metadata = parsed.value().kind->traits(parsed.value().choice).state_bytes_per_cell;
  const auto layout = result.value().details[0].layout;
  EXPECT_EQ(layout.token_bytes, heads * (cell + metadata));
  EXPECT_EQ(layout.alloc_units, 400 / kBlock - 1);
  for (std::int64_t n = prompt; n < tokens; ++n) {
    const attention::Sets& sets =
        n == prompt ? outcome.after_prefill : outcome.retained[static_cast<std::size_t>(n - 1 - prompt)];
    // TOVA has one set for all heads of the layer.
    const std::int64_t heads_per_set = heads / static_cast<std::int64_t>(sets.size());
    std::int64_t kept = 0;
    std::vector<bool> needed(static_cast<std::size_t>(ceil_div(n, kBlock)), false);
    for (const auto& set : sets) {
      kept += static_cast<std::int64_t>(set.size()) * heads_per_set;
      for (const std::int32_t p : set) needed[static_cast<std::size_t>(p / kBlock)] = true;
    }
    if (n % kBlock != 0) needed.back() = true;  // a cell of it is still to be written
    std::int64_t written_in_held = 0;
    for (std::int64_t p = 0; p < n; ++p)
      written_in_held += needed[static_cast<std::size_t>(p / kBlock)] ? heads : 0;
    const auto& bytes = settled->bytes.at(n);
    EXPECT_EQ(bytes[index(State::kLive)], kept * cell) << n;
    EXPECT_EQ(bytes[index(State::kMetadata)], kept * metadata) << n;
    EXPECT_EQ(bytes[index(State::kHole)], (written_in_held - kept) * (cell + metadata)) << n;
  }
  EXPECT_EQ(result.value().coverage->recordings, 1);
  EXPECT_EQ(result.value().coverage->used, 1);
  EXPECT_EQ(result.value().coverage->driven_requests, 1);
}

void compare_with_token_level(const std::string& input, const std::string& policy, std::int64_t prompt) {
  SCOPED_TRACE(input + " " + policy);
  const auto opened = io::open_attention(kInputs + input);
  ASSERT_TRUE(opened.ok());
  compare_with_token_level(opened.value(), policy, prompt);
}

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

/// The recordings beside the short trace of tests/golden/replay are the golden inputs.
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

std::shared_ptr<const attention::Recording> random_recording(int layers, int heads, int tokens) {
  Random random(5, "coupling");
  std::vector<attention::Rows> rows;
  for (int i = 0; i < layers; ++i)
    rows.push_back(attention::random_rows(random, heads, tokens, attention::RowKind::kSmooth));
  return attention::recording_of(rows);
}

traces::Trace short_trace(std::int64_t requests, std::int64_t longest, std::int64_t gap_ns) {
  Random random(11, "short trace");
  std::vector<std::array<std::int32_t, 2>> lengths;
  for (std::int64_t i = 0; i < requests; ++i) {
    const auto input = random.between(1, longest - 1);
    lengths.push_back({static_cast<std::int32_t>(input),
                       static_cast<std::int32_t>(random.between(1, longest + 1 - input))});
  }
  return trace_of(lengths, gap_ns);
}

std::string everything(const runs::RunResult& r) {
  return runs::report_json(r) + runs::requests_csv(r) + runs::timeline_csv(r);
}

/// Fast and naive, tight pools with many preemptions: every output the same bytes.
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

/// What a positional policy keeps is known from lengths; replayed on a recording it is the same run.
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

/// What was recorded beyond a request is not its future: its run is that of a recording that ends with it.
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
    // Of the same prompt one is shorter: the longer one's end is not its future either.
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

/// Of several runs on several threads each trajectory is worked out once, and nothing of a report shows it.
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

/// A batch has it by its inputs, which forget it with the recording.
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

/// A head that was not recorded is named with its layer and file, before anything runs.
TEST(Replay, NamesTheHeadThatAFileLacks) {
  const auto whole = random_recording(2, 3, 40);
  for (const char* files : {"whole.kva,part.kva", "part.kva"}) {
    runs::RunOptions options;
    options.open_recording =
        [&](const std::string& path) -> Result<std::shared_ptr<const attention::Recording>> {
      return path == "whole.kva" ? whole : attention::only_heads(whole, {{0, 1, 2}, {0, 2}});
    };
    const auto scenario = scenario_of(
        {{"workload.attention", files}, {"eviction", "h2o:hh=4,recent=4"}, {"memory.pool_tokens", "400"}});
    const auto result = runs::run_scenario(scenario, trace_of({{8, 3}}, 0), options);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().to_string(),
              "workload.attention: part.kva: layer 1 lacks KV head 1: expected all heads of every layer");
  }
}

TEST(Replay, RecordingsTakeTurns) {
  // Two sequences in one recording, then another: request i is driven by recording i mod 3.
  const auto trace = short_trace(7, 40, 100'000);
  std::vector<std::string> opened;
  runs::RunOptions options;
  options.open_recording =
      [&](const std::string& path) -> Result<std::shared_ptr<const attention::Recording>> {
    opened.push_back(path);
    return io::open_attention(kInputs + "A.json");
  };
  const auto scenario = scenario_of({{"workload.attention", "one.kva,two.kva,three.kva"},
                                     {"eviction", "h2o:hh=4,recent=4"},
                                     {"workload.limit", "2"},
                                     {"memory.pool_tokens", "4000"}});
  const auto result = runs::run_scenario(scenario, trace, options);
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  EXPECT_EQ(opened, (std::vector<std::string>{"one.kva", "two.kva", "three.kva"}));
  EXPECT_EQ(result.value().coverage->recordings, 3);
  EXPECT_EQ(result.value().coverage->used, 2);
  EXPECT_EQ(result.value().coverage->driven_requests, 2);
  EXPECT_EQ(*result.value().coverage->driven_request_fraction, 1);
}

/// Counts how often a layer is opened.
class Opened final : public attention::Recording {
 public:
  explicit Opened(std::shared_ptr<const attention::Recording> whole) : whole_(std::move(whole)) {}
  [[nodiscard]] const attention::RecordingInfo& info() const override { return whole_->info(); }
  [[nodiscard]] Result<std::unique_ptr<attention::LayerRows>> open(std::int32_t sequence,
                                                                   std::int32_t layer) const override {
    ++times;
    return whole_->open(sequence, layer);
  }
  mutable int times{0};

 private:
  std::shared_ptr<const attention::Recording> whole_;
};

/// As another recording, but of a model with other sizes of keys and values.
class Resized final : public attention::Recording {
 public:
  Resized(std::shared_ptr<const attention::Recording> whole, std::int32_t keys, std::int32_t values)
      : whole_(std::move(whole)), info_(whole_->info()) {
    info_.key_size = keys;
    info_.value_size = values;
    info_.sizes_assumed = false;
  }
  [[nodiscard]] const attention::RecordingInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::unique_ptr<attention::LayerRows>> open(std::int32_t sequence,
                                                                   std::int32_t layer) const override {
    return whole_->open(sequence, layer);
  }

 private:
  std::shared_ptr<const attention::Recording> whole_;
  attention::RecordingInfo info_;
};

TEST(Replay, KeysAndValuesOfTwoSizes) {
  const auto rows = io::open_attention(kInputs + "A.json").value();
  for (const auto& [keys, values] : {std::pair{192, 128}, {64, 128}, {3, 1}}) {
    SCOPED_TRACE(std::to_string(keys) + " and " + std::to_string(values));
    const auto recording = std::make_shared<Resized>(rows, keys, values);
    compare_with_token_level(recording, "h2o:hh=4,recent=4", 8);
    compare_with_token_level(recording, "snapkv:window=4,capacity=12", 40);
  }
}

TEST(Replay, ReplicasShareWhatARecordingSays) {
  // Eight requests of one prompt, driven by one recording.
  const auto trace = trace_of(std::vector<std::array<std::int32_t, 2>>(8, {30, 21}), 0);
  const auto times = [&](const char* replicas, std::int64_t bins) {
    const auto recording = std::make_shared<Opened>(random_recording(2, 3, 50));
    const auto scenario = scenario_of({{"workload.attention", "r.kva"},
                                       {"eviction", "h2o:hh=4,recent=4"},
                                       {"fleet.replicas", replicas},
                                       {"memory.pool_tokens", "4000"}});
    runs::RunOptions options = options_with(recording);
    options.timeline_bins = bins;  // of an exact number: a second run
    const auto result = runs::run_scenario(scenario, trace, options);
    EXPECT_TRUE(result.ok());
    return recording->times;
  };
  for (const auto& [replicas, bins] : {std::pair{"1", 0}, {"4", 0}, {"4", 10}})
    EXPECT_EQ(times(replicas, bins), 2) << replicas;  // each layer once
}

/// Whatever the longest of the requests with the same prompt, and in any order of arrival.
TEST(Replay, OpensEachLayerOnceForAPrompt) {
  const auto recording = std::make_shared<Opened>(random_recording(2, 1, 900));
  const auto trace = trace_of({{{30, 21}}, {{30, 600}}, {{30, 300}}, {{30, 871}}}, 1'000'000);
  const auto run = runs::run_scenario(scenario_of({{"workload.attention", "r.kva"},
                                                   {"eviction", "h2o:hh=4,recent=4"},
                                                   {"memory.pool_tokens", "4000"}}),
                                      trace, options_with(recording));
  ASSERT_TRUE(run.ok()) << run.error().to_string();
  EXPECT_EQ(run.value().completed, 4);
  EXPECT_EQ(recording->times, 2);
}

std::string error_of(std::vector<std::pair<std::string, std::string>> values, const traces::Trace& trace,
                     const std::shared_ptr<const attention::Recording>& recording) {
  std::vector<runs::Setting> settings;
  for (auto& [path, text] : values) settings.push_back({path, text, {}, 0});
  const auto scenario = runs::resolve(settings);
  if (!scenario) return scenario.error().to_string();
  const auto result = runs::run_scenario(scenario.value(), trace, options_with(recording));
  return result.ok() ? "ran" : result.error().to_string();
}

TEST(Replay, RefusesWhatNoRecordingDrives) {
  const auto recording = random_recording(2, 3, 50);
  const auto fits = trace_of({{{30, 21}}}, 0);
  const auto too_long = trace_of({{{30, 21}}, {{30, 22}}, {{40, 20}}}, 0);
  const std::pair<std::string, std::string> given{"workload.attention", "r.kva"},
      h2o{"eviction", "h2o:hh=4,recent=4"};
  EXPECT_EQ(error_of({given, h2o}, fits, recording), "ran");
  EXPECT_EQ(error_of({given, h2o}, too_long, recording),
            "workload.attention: expected longer recordings: request 1 needs 51 tokens (prompt + output - "
            "1), r.kva has 50; the same holds for 2 requests");
  // A request that is turned away needs no recording.
  EXPECT_EQ(error_of({given, h2o, {"engine", "vllm-v1:max_model_len=51"}}, too_long, recording), "ran");
  EXPECT_EQ(error_of({given, h2o, {"model", "llama-3-8b"}}, fits, recording),
            "workload.attention: expected the model's shape (32 x 8 KV heads, 65536 elements per token), "
            "found 2 x 3 KV heads, 768 elements per token in r.kva; model=recording uses the shape of "
            "the recordings, workload.extrapolation=shape lets them stand in for the model");
  EXPECT_EQ(error_of({h2o}, fits, recording).substr(0, 47),
            "eviction: \"h2o\" selects by attention: give reco");
  EXPECT_EQ(error_of({given, {"eviction", "oracle-topk:k=4"}}, fits, recording),
            "eviction: \"oracle-topk\" evicts nothing and reads a part, so it frees no memory in a run: use "
            "`kvplan evict`");
  EXPECT_EQ(error_of({{"model", "recording"}}, fits, recording),
            "model: expected workload.attention, which gives the shape");
  EXPECT_EQ(error_of({{"workload.attention", "a.kva,,b.kva"}, h2o}, fits, recording),
            "workload.attention: expected a path between commas");
  EXPECT_EQ(error_of({{"workload.attention", "a.kva,"}, h2o}, fits, recording),
            "workload.attention: expected a path between commas");
}

TEST(Replay, SaysWhatItIgnores) {
  const auto trace = trace_of({{{30, 21}}}, 0);
  const auto warnings = [&](std::vector<std::pair<std::string, std::string>> values) {
    const auto result =
        runs::run_scenario(scenario_of(std::move(values)), trace, options_with(random_recording(1, 1, 50)));
    EXPECT_TRUE(result.ok());
    return result.value().warnings;
  };
  EXPECT_EQ(warnings({{"workload.attention", "r"}, {"eviction", "window:window=8"}}),
            (std::vector<std::string>{"workload.attention drives no request: the number of tokens that "
                                      "eviction=window keeps does not depend on attention."}));
  EXPECT_EQ(warnings({{"eviction", "window:window=8,placement=reuse"}}),
            (std::vector<std::string>{"prefix_cache is ignored with placement=reuse: later tokens overwrite "
                                      "blocks that other requests would hit."}));
  EXPECT_TRUE(warnings({{"workload.attention", "r"}, {"eviction", "tova:budget=8"}}).empty());
  EXPECT_EQ(warnings({{"workload.attention", "r"}, {"eviction", "h2o:hh=4,recent=4"}}).size(), 1U);
  EXPECT_TRUE(
      warnings({{"eviction", "window:window=8,placement=reuse"}, {"engine", "vllm-v1:prefix_cache=false"}})
          .empty());
}

/// A recording that says other things of itself.
class Told final : public attention::Recording {
 public:
  Told(std::shared_ptr<const attention::Recording> whole, attention::RecordingInfo info)
      : whole_(std::move(whole)), info_(std::move(info)) {}
  [[nodiscard]] const attention::RecordingInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::unique_ptr<attention::LayerRows>> open(std::int32_t sequence,
                                                                   std::int32_t layer) const override {
    return whole_->open(sequence, layer);
  }

 private:
  std::shared_ptr<const attention::Recording> whole_;
  attention::RecordingInfo info_;
};

TEST(Replay, SaysWhatRecordingsAreNot) {
  const auto whole = random_recording(2, 3, 50);
  const auto trace = trace_of({{{30, 21}}}, 0);
  const std::map<std::string, std::string> digests{
      {"a", "sha256:1"}, {"b", ""}, {"c", "sha256:1"}, {"d", "sha256:2"}};
  runs::RunOptions options;
  options.open_recording =
      [&](const std::string& path) -> Result<std::shared_ptr<const attention::Recording>> {
    attention::RecordingInfo info = whole->info();
    if (path == "cut") {
      info.cut = "the file was truncated at byte 99";
      info.sequences.clear();
    } else {
      info.model_digest = digests.at(path);
    }
    return std::shared_ptr<const attention::Recording>(std::make_shared<const Told>(whole, std::move(info)));
  };
  const auto run = [&](const std::string& paths) {
    return runs::run_scenario(scenario_of({{"workload.attention", paths}, {"eviction", "tova:budget=8"}}),
                              trace, options);
  };
  const auto same = run("b,a,c").value().warnings;
  const auto others = run("b,a,d").value().warnings;
  ASSERT_EQ(others.size(), same.size() + 1);
  EXPECT_NE(std::find(others.begin(), others.end(), "d: was recorded with different weights than a."),
            others.end());
  EXPECT_EQ(run("cut").error().to_string(),
            "workload.attention: expected a recording with all layers of its model; cut: the file was "
            "truncated at byte 99");
}

/// A window that reuses cells holds a ring: it never asks for more blocks than its window needs.
TEST(Replay, WindowWithReuseIsARing) {
  const auto trace = trace_of({{{100, 400}}}, 0);
  const auto run = [&](const std::string& placement) {
    auto options = options_with();
    options.timeline_bins = 1;
    return runs::run_scenario(scenario_of({{"eviction", "window:window=32,placement=" + placement},
                                           {"engine", "vllm-v1:prefix_cache=false"},
                                           {"memory.pool_blocks", "64"}}),
                              trace, options)
        .value();
  };
  const auto ring = run("reuse");
  const auto holes = run("holes");
  // 100 tokens in 7 blocks, 4 of them dead after the prompt; the other 3 stay for ever.
  EXPECT_EQ(ring.evicted_blocks, 4);
  EXPECT_EQ(ring.evicted_tokens, holes.evicted_tokens);
  EXPECT_GT(holes.evicted_blocks, 20);
  EXPECT_EQ(ring.hole_bytes_peak, 0);
  EXPECT_EQ(ring.makespan.count, holes.makespan.count);  // the same cells are read
}

}  // namespace
}  // namespace kvplan
