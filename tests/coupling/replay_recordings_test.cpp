// How runs use, share and refuse recordings.
#include <gtest/gtest.h>
#include <algorithm>
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
  // Two sequences in one recording, then another recording: request i uses recording i mod 3.
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

/// A recording like another one, but of a model with other sizes of keys and values.
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
  // Eight requests with the same prompt, which use one recording.
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

/// This holds for any length of the longest request with the same prompt, and any order of arrival.
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
  // A rejected request needs no recording.
  EXPECT_EQ(error_of({given, h2o, {"engine", "vllm-v1:max_model_len=51"}}, too_long, recording), "ran");
  EXPECT_EQ(error_of({given, h2o, {"model", "llama-3-8b"}}, fits, recording),
            "workload.attention: expected the model's shape (32 x 8 KV heads, 65536 elements per token), "
            "found 2 x 3 KV heads, 768 elements per token in r.kva; model=recording uses the shape of the "
            "recordings; with workload.extrapolation=shape, recordings of another shape are accepted");
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
            (std::vector<std::string>{"workload.attention is not used: the number of tokens that "
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

/// A recording with other properties than it really has.
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

/// A window that reuses cells is a ring: it never needs more blocks than the window does.
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
  // 100 tokens in 7 blocks, of which 4 are freed after the prompt; the other 3 stay until the end.
  EXPECT_EQ(ring.evicted_blocks, 4);
  EXPECT_EQ(ring.evicted_tokens, holes.evicted_tokens);
  EXPECT_GT(holes.evicted_blocks, 20);
  EXPECT_EQ(ring.hole_bytes_peak, 0);
  EXPECT_EQ(ring.makespan.count, holes.makespan.count);  // the same cells are read
}

}  // namespace
}  // namespace kvplan
