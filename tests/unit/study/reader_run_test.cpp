// Runs with sparse attention in decode steps: what stays the same, what is reported, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/run/run.h"
#include "tests/support/random_trace.h"

namespace kvplan::runs {
namespace {

using Sets = std::vector<std::string>;

Result<Scenario> scenario_of(const Sets& sets) {
  std::vector<Setting> settings;
  for (const std::string& set : sets) settings.push_back(parse_setting(set).value());
  return resolve(settings);
}

Result<RunResult> run_of(const Sets& sets, const traces::Trace& trace, bool step_by_step = false) {
  KVPLAN_TRY(const Scenario scenario, scenario_of(sets));
  RunOptions options;
  options.step_by_step = step_by_step;
  options.request_memory = true;
  // Gates that decrease from layer to layer, for 8 KV heads.
  options.open_scores = [](const std::string& /*file*/) -> Result<attention::HeadTable> {
    attention::HeadTable gates;
    for (int layer = 0; layer < 32; ++layer) {
      gates.emplace_back();
      for (int head = 0; head < 8; ++head) gates.back().push_back(0.9 - 0.02 * layer - 0.01 * head);
    }
    return gates;
  };
  return run_scenario(scenario, trace, options);
}

RunResult good_run(const Sets& sets, const traces::Trace& trace, bool step_by_step = false) {
  auto run = run_of(sets, trace, step_by_step);
  EXPECT_TRUE(run.ok()) << run.error().to_string();
  return std::move(run).value();
}

Sets with(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

traces::Trace long_requests(std::uint64_t seed) {
  Random random(seed, "runs with readers");
  return test::random_trace(random,
                            {.requests = 60, .hash_block = 64, .most_input = 900, .most_output = 120});
}

const Sets kPlain{"memory.pool_tokens=60000", "deployment.device=h100-sxm", "latency=roofline"};

/// Finish times of requests that were served.
std::vector<std::int64_t> ends_of(const RunResult& run) {
  std::vector<std::int64_t> ends;
  for (const observe::RequestRecord& record : run.records) ends.push_back(record.finish.since_start.count);
  return ends;
}

bool says(const RunResult& run, std::string_view part) {
  return std::any_of(run.assumptions.begin(), run.assumptions.end(),
                     [&](const std::string& sentence) { return sentence.find(part) != std::string::npos; });
}

TEST(RunsWithReaders, SteppingIsTheSame) {
  const traces::Trace trace = long_requests(1);
  for (const Sets& kind : std::vector<Sets>{
           {"reader=quest:budget=128,page=16,dense_layers=2"},
           {"reader=quest:budget=128,share=mean,dense_layers=0", "engine=vllm-v1:prefix_cache=false"},
           {"reader=infinigen:budget=64", "memory.pool_tokens=6000"},
           {"reader=retrieval-heads:gates=g.json,sink=4,recent=100", "deployment.tp=2"},
           {"reader=oracle:budget=50", "memory.allocator=contiguous:reserve=oracle", "format=int8:group=64"},
           {"reader=quest:budget=256", "latency=composed", "deployment.tp=2", "fleet.replicas=2"},
           {"reader=quest:budget=64,dense_layers=0", "memory.allocator=growing", "deployment.pp=2"}}) {
    SCOPED_TRACE(kind.front());
    const RunResult fast = good_run(with(kPlain, kind), trace);
    const RunResult slow = good_run(with(kPlain, kind), trace, true);
    EXPECT_EQ(ends_of(fast), ends_of(slow));
    EXPECT_EQ(fast.makespan.count, slow.makespan.count);
    EXPECT_EQ(fast.assumptions, slow.assumptions);
    EXPECT_EQ(fast.preemptions, slow.preemptions);
    ASSERT_TRUE(fast.memory);
    EXPECT_EQ(fast.memory->mean_bytes, slow.memory->mean_bytes);
  }
}

/// A budget that no request reaches changes no time, even if metadata is stored with the tokens.
TEST(RunsWithReaders, ReadersOfEverythingAreNotFaster) {
  const traces::Trace trace = long_requests(2);
  const RunResult plain = good_run(kPlain, trace);
  for (const char* reader : {"reader=full", "reader=oracle:budget=100000", "reader=quest:budget=100000"}) {
    const RunResult run = good_run(with(kPlain, {reader}), trace);
    EXPECT_EQ(ends_of(run), ends_of(plain)) << reader;
    EXPECT_EQ(run.preemptions, plain.preemptions) << reader;
  }
  const RunResult quest = good_run(with(kPlain, {"reader=quest:budget=64,share=max"}), trace);
  EXPECT_LT(quest.makespan.count, plain.makespan.count);
  EXPECT_EQ(quest.memory->mean_bytes[index(observe::State::kHole)], 0) << "The whole cache stays";
}

/// Bounds of a page of 16: two vectors of 128 elements of 2 bytes for each of 8 heads, in 30 of 32 layers.
TEST(RunsWithReaders, MetadataLiesBesideTheTokens) {
  const traces::Trace trace = long_requests(3);
  const RunResult run = good_run(with(kPlain, {"reader=quest:budget=128"}), trace);
  constexpr std::int64_t kBeside = 30 * 8 * 2 * 128 * 2 / 16;
  EXPECT_EQ(run.replicas.front().pool.metadata_bytes_per_token, kBeside);
  const double live = run.memory->mean_bytes[index(observe::State::kLive)];
  EXPECT_NEAR(run.memory->mean_bytes[index(observe::State::kMetadata)], live * kBeside / 131072,
              live * 1e-12);
  const RunResult half =
      good_run(with(kPlain, {"reader=quest:budget=128,dense_layers=0", "deployment.tp=2"}), trace);
  EXPECT_EQ(half.replicas.front().pool.metadata_bytes_per_token, 32 * 4 * 2 * 128 * 2 / 16);
  // Channels: a fifth of 128, in one layer fewer.
  const RunResult parts = good_run(with(kPlain, {"reader=infinigen:budget=100"}), trace);
  EXPECT_EQ(parts.replicas.front().pool.metadata_bytes_per_token, 31 * 8 * 25 * 2);
}

/// The share of visible tokens that steps fetched, from the lengths.
TEST(RunsWithReaders, SayWhatPartWasFetched) {
  const traces::Trace trace = long_requests(4);
  constexpr std::int64_t kFetched = 4 * 112;  // four query heads that never select the same token
  const RunResult run = good_run(with(kPlain, {"reader=quest:budget=112"}), trace);
  ASSERT_EQ(run.preemptions, 0);
  double seen = 0, fetched = 0;
  for (std::size_t i = 0; i < trace.input_tokens.size(); ++i)
    for (std::int64_t n = trace.input_tokens[i] + std::int64_t{1};
         n <= std::int64_t{trace.input_tokens[i]} + trace.output_tokens[i] - 1; ++n) {
      seen += static_cast<double>(n);
      fetched += static_cast<double>(std::min(n, kFetched));
    }
  const auto permille = std::llround(1000 * fetched / seen);
  EXPECT_TRUE(
      says(run, "fetched " + std::to_string(permille / 10) + "." + std::to_string(permille % 10) + " %."));
  EXPECT_TRUE(says(run, "93.8 % of the KV heads fetch at most 448 tokens of a request"));
  EXPECT_TRUE(says(
      run,
      "if it has more than 112. On a rank, 7680 bytes of metadata, in the model's element size, are stored"));
  EXPECT_TRUE(says(run, "assumes the maximum"));
}

/// The rank that reads most decides: with gates that decrease by layer and head, the first ranks have the whole heads.
TEST(RunsWithReaders, TheSlowestRankOfALayerDecides) {
  const traces::Trace trace = long_requests(5);
  const RunResult one =
      good_run(with(kPlain, {"reader=retrieval-heads:gates=g.json,sink=4,recent=60"}), trace);
  EXPECT_TRUE(says(one, "50.0 % of the KV heads fetch 64 tokens of a request."));
  const RunResult eight = good_run(
      with(kPlain, {"reader=retrieval-heads:gates=g.json,sink=4,recent=60", "deployment.tp=8"}), trace);
  EXPECT_TRUE(says(eight, "50.0 % of the KV heads fetch 64 tokens of a request."));
  // A layer is as slow as its one rank with a whole head, one with a gate in the upper half.
  double in_part = 0;
  std::vector<double> gates;
  for (int layer = 0; layer < 32; ++layer)
    for (int head = 0; head < 8; ++head) gates.push_back(0.9 - 0.02 * layer - 0.01 * head);
  std::vector<double> sorted = gates;
  std::sort(sorted.begin(), sorted.end());
  const double median = (sorted[127] + sorted[128]) / 2;
  for (std::size_t layer = 0; layer < 32; ++layer)
    in_part += std::all_of(gates.begin() + static_cast<std::ptrdiff_t>(8 * layer),
                           gates.begin() + static_cast<std::ptrdiff_t>(8 * layer + 8),
                           [&](double gate) { return gate < median; })
                   ? 1
                   : 0;
  const auto permille = std::llround(1000 * in_part / 32);
  EXPECT_TRUE(says(eight, "Of these heads, " + std::to_string(permille / 10) + "." +
                              std::to_string(permille % 10) + " % read a part"));
  EXPECT_LT(permille, 500);
}

/// 16 ranks: each has one of 8 heads, with 4 of its 8 query heads.
TEST(RunsWithReaders, HeadsThatRanksStoreAgainServeFewerQueries) {
  const traces::Trace trace = long_requests(7);
  for (const auto& [ranks, fetched] : {std::pair{"8", "800"}, std::pair{"16", "400"}}) {
    const RunResult run = good_run(with(kPlain, {"model=llama-3-70b", "reader=oracle:budget=100",
                                                 std::string("deployment.tp=") + ranks}),
                                   trace);
    EXPECT_TRUE(says(run, std::string("fetch at most ") + fetched + " tokens")) << ranks;
  }
}

TEST(RunsWithReaders, WhereNoHeadReadsAPartThatIsSaid) {
  const traces::Trace trace = long_requests(8);
  const RunResult run = good_run(with(kPlain, {"reader=quest:budget=64,dense_layers=32"}), trace);
  EXPECT_TRUE(says(run, "reads the whole cache: no head of the model reads a part."));
  EXPECT_FALSE(says(run, "fetch"));
  EXPECT_EQ(ends_of(run), ends_of(good_run(kPlain, trace)));
}

TEST(RunsWithReaders, RefuseWhatIsNotFollowed) {
  const traces::Trace trace = long_requests(6);
  const auto expect_refused = [&](const Sets& sets, std::string_view field, std::string_view part) {
    const auto run = run_of(with(kPlain, sets), trace);
    ASSERT_FALSE(run.ok()) << sets.front();
    const std::string error = run.error().to_string();
    EXPECT_NE(error.find(field), std::string::npos) << error;
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  expect_refused({"reader=quest:budget=64", "eviction=window:window=100"}, "reader", "evicts some");
  expect_refused({"reader=clusterkv:budget=64"}, "reader",
                 "(full, quest, infinigen, retrieval-heads, oracle)");
  expect_refused({"reader=retro-infer"}, "reader", "depends on the keys");
  expect_refused({"reader=quest:budget=64", "engine=sglang"}, "reader", "reads the whole cache");
  expect_refused({"reader=quest:budget=64", "memory.allocator=no-cache"}, "reader", "has no KV cache");
  expect_refused({"reader=quest:budget=64", "memory.allocator=grouped", "model=gemma-3-27b"}, "reader",
                 "windows");
  expect_refused({"reader=quest:budget=64", "format=kivi"}, "reader", "encodes tokens jointly");
  expect_refused({"reader=quest:budget=64", "latency=calibrated:file=steps.json"}, "reader",
                 "whole step times");
  expect_refused({"reader=quest:budget=64", "model=deepseek-v3"}, "reader", "keys by head");
  expect_refused({"reader=infinigen"}, "infinigen:budget", "above 0");
  expect_refused({"reader=quest:budget=8,form=kernels"}, "quest:budget", "at least a page of 16");
  expect_refused({"reader=retrieval-heads:gates=g.json", "model=llama-3-70b", "deployment.tp=4"},
                 "retrieval-heads:gates", "a list for layer 32");
  expect_refused({"reader=retrieval-heads:gates=g.json", "model=qwen2.5-7b"}, "reader",
                 "the 28 layers of qwen2.5-7b");
  expect_refused({"reader=quest:budget=64", "deployment.pp=2"}, "reader", "dense_layers=0");
  expect_refused({"reader=oracle:budget=64", "format=palu:group=2"}, "reader", "share what");
  expect_refused({"reader=oracle:budget=64", "format=smaller-model:model_layers=16"}, "reader",
                 "bytes per token");
}

}  // namespace
}  // namespace kvplan::runs
