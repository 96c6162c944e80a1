// On real traces: fast runs compared with naive ones byte for byte, and with figures recorded from the real vLLM V1
// (tests/golden/README.md). Skipped if the shared traces are absent.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "simulator/results/report.h"
#include "simulator/scheduling/vllm/replay/sched.h"
#include "simulator/scheduling/vllm/replay/seq.h"
#include "tests/support/random_cases.h"
#include "traces/import/open_trace.h"

namespace kvplan {
namespace {

/// The path of a shared trace, or empty.
std::string shared_trace(const std::string& name) {
  const char* folder = std::getenv("KVPLAN_SHARED");
  const std::string path =
      (folder == nullptr ? std::string(KVPLAN_SOURCE_DIR) + "/../shared" : folder) + ("/traces/" + name);
  return std::filesystem::exists(path) ? path : "";
}

#define KVPLAN_TRACE_OR_SKIP(variable, name)                                 \
  const std::string variable##_path = shared_trace(name);                    \
  if (variable##_path.empty()) GTEST_SKIP() << "no shared trace " << (name); \
  const traces::Trace variable = traces::open_trace(variable##_path).value()

/// Steps of an invented device: 4 to 64 sequences, 1 to 2049 prompt tokens, contexts up to 40,000.
Result<runs::MeasuredSteps> made_up_steps(const std::string& /*path*/, std::string_view /*model*/) {
  std::vector<latency::MeasuredStep> steps;
  for (const std::int64_t sequences : {4, 17, 64})
    for (const std::int64_t prompt : {0, 512, 2048})
      for (const std::int64_t context : {0, 1000, 7777, 40'000})
        steps.push_back({sequences, sequences + prompt, context,
                         ticks_from_ns(9'000'001 + 10'007 * sequences + 60'013 * prompt + 71 * context +
                                       (context > 5000 ? 11 * context : 0))});
  KVPLAN_TRY(latency::StepTable table, latency::StepTable::make(std::move(steps)));
  return runs::MeasuredSteps{std::move(table), {"Made up."}};
}

/// With sanitizers the naive engine takes minutes for thousands of requests.
constexpr std::string_view kLimit = "workload.limit=";
std::string limited(const std::string& text) {
  if (!text.starts_with(kLimit)) return text;
  const std::int64_t requests = std::stoll(text.substr(kLimit.size()));
  return std::string(kLimit) + std::to_string(std::min(requests, test::random_cases(requests, requests / 4)));
}

std::string everything(const traces::Trace& trace, const std::vector<std::string>& sets, bool step_by_step) {
  std::vector<runs::Setting> settings;
  for (const std::string& text : sets) settings.push_back(runs::parse_setting(limited(text)).value());
  runs::RunOptions options;
  options.step_by_step = step_by_step;
  options.request_memory = true;
  options.timeline_bins = 50;
  options.open_steps = made_up_steps;
  const auto result = runs::run_scenario(runs::resolve(settings).value(), trace, options);
  if (!result.ok()) return result.error().to_string();
  return runs::report_json(result.value()) + runs::requests_csv(result.value()) +
         runs::timeline_csv(result.value());
}

const std::string kLatency = "latency=affine:base_ns=12000000.37,token_ns=6000.1,context_ns=6.03";

TEST(RealTraces, FastEqualsNaiveOnTheAzureHour) {
  KVPLAN_TRACE_OR_SKIP(azure, "azure_llm_2023_conv.csv");
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {kLatency, "workload.limit=3000", "memory.pool_tokens=30000",
            "eviction=streaming-llm:sink=4,recent=300"},
           {kLatency, "workload.limit=3000", "memory.pool_tokens=20000", "workload.rate_scale=3"},
           {kLatency, "workload.limit=2000", "memory.pool_tokens=14000", "fleet.replicas=3"},
           {kLatency, "workload.limit=4000", "memory.pool_tokens=400000", "workload.rate_scale=1/8"},
           {kLatency, "workload.limit=2000", "memory.pool_tokens=60000",
            "memory.allocator=contiguous:reserve=pow2", "engine.max_model_len=16384",
            "eviction=window:window=100"},
           {kLatency, "workload.limit=2000", "memory.pool_tokens=40000",
            "memory.allocator=contiguous:fit=best,reserve=oracle,compact=on-refusal"},
           {kLatency, "workload.limit=1500", "memory.pool_tokens=20000", "memory.allocator=growing:slack=32",
            "workload.rate_scale=2"},
           {kLatency, "workload.limit=600", "memory.pool_tokens=16000",
            "memory.allocator=growing:factor=1.25,step=16,in_place=false,compact=on-refusal",
            "workload.rate_scale=2", "eviction=streaming-llm:sink=4,recent=300"},
           {kLatency, "workload.limit=1000", "memory.pool_tokens=20000", "memory.allocator=no-cache"},
           {"latency=calibrated:file=-", "workload.limit=3000", "memory.pool_tokens=60000"},
           {"latency=calibrated:file=-", "workload.limit=1000", "memory.pool_tokens=20000",
            "eviction=streaming-llm:sink=4,recent=300"},
           {"latency=calibrated:file=-", "workload.limit=300", "memory.pool_tokens=20000",
            "memory.allocator=no-cache"},
           {"latency=roofline", "workload.limit=300", "memory.pool_tokens=20000",
            "memory.allocator=no-cache"}}) {
    SCOPED_TRACE(sets[2] + " " + sets[3 < sets.size() ? 3 : 2]);
    EXPECT_TRUE(everything(azure, sets, false) == everything(azure, sets, true));
  }
}

TEST(RealTraces, FastEqualsNaiveWithSharedPrefixes) {
  KVPLAN_TRACE_OR_SKIP(mooncake, "mooncake_fast25_conversation.jsonl.zst");
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {kLatency, "workload.limit=500", "memory.pool_blocks=24000", "eviction=window:window=2048"},
           {kLatency, "workload.limit=500", "memory.pool_blocks=9000",
            "memory.allocator=paged:block_tokens=32",
            "engine=vllm-v1:long_prefill_threshold=1500,token_budget=4096,max_seqs=48"}}) {
    SCOPED_TRACE(sets[2] + " " + sets[3]);
    EXPECT_TRUE(everything(mooncake, sets, false) == everything(mooncake, sets, true));
  }
}

TEST(RealTraces, FastEqualsNaiveWithATree) {
  KVPLAN_TRACE_OR_SKIP(mooncake, "mooncake_fast25_conversation.jsonl.zst");
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {kLatency, "workload.limit=400", "memory.pool_tokens=200000", "engine=sglang:policy=lpm"},
           {kLatency, "workload.limit=300", "memory.pool_tokens=150000",
            "engine=sglang:schedule_conservativeness=0,chunked_prefill_size=2048",
            "memory.allocator=paged:block_tokens=64"}}) {
    SCOPED_TRACE(sets[2] + " " + sets[3]);
    EXPECT_TRUE(everything(mooncake, sets, false) == everything(mooncake, sets, true));
  }
}

TEST(RealTraces, HitRatiosOfTheRealPool) {
  KVPLAN_TRACE_OR_SKIP(mooncake, "mooncake_fast25_conversation.jsonl.zst");
  double prompt_tokens = 0;
  for (const std::int32_t tokens : mooncake.input_tokens) prompt_tokens += tokens;
  for (const auto& [blocks, percent] :
       {std::pair{2000, 5.42}, std::pair{10000, 20.94}, std::pair{50000, 36.03}}) {
    replays::CacheOptions options;
    options.block_tokens = 512;
    options.blocks = blocks;
    double hits = 0;
    ASSERT_TRUE(replays::run_vllm_seq(mooncake, options, [&](const replays::SeqRow& row) {
                  hits += static_cast<double>(row.hit_tokens);
                }).ok());
    EXPECT_NEAR(100 * hits / prompt_tokens, percent, 0.005) << blocks;
  }
}

TEST(RealTraces, PreemptionsOfTheRealScheduler) {
  KVPLAN_TRACE_OR_SKIP(mooncake, "mooncake_fast25_conversation.jsonl.zst");
  struct Recorded {
    std::int64_t blocks;
    bool prefix_cache;
    std::int64_t preemptions;
    std::int64_t recomputed;
  };
  for (const Recorded& recorded :
       {Recorded{32000, true, 4771, 447327}, Recorded{64000, false, 1049, 15517391}}) {
    replays::CacheOptions options;
    options.blocks = recorded.blocks;
    options.prefix_cache = recorded.prefix_cache;
    const auto rows = replays::run_vllm_sched(mooncake, options, {}).value();
    std::int64_t preemptions = 0;
    std::int64_t recomputed = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      preemptions += rows[i].preemptions;
      recomputed += rows[i].computed_tokens -
                    (mooncake.input_tokens[i] + mooncake.output_tokens[i] - 1 - rows[i].first_hit_tokens);
    }
    EXPECT_EQ(preemptions, recorded.preemptions);
    EXPECT_EQ(recomputed, recorded.recomputed);
  }
}

}  // namespace
}  // namespace kvplan
