// The latency model `composed` as a whole: known results, its assumptions, and runs in closed form compared with runs
// step by step.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>

#include "simulator/base/random.h"
#include "simulator/core/parted_latency.h"
#include "simulator/latency/latencies.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/device_catalogue.h"
#include "simulator/results/report.h"
#include "simulator/run/run.h"
#include "tests/support/random_trace.h"

namespace kvplan {
namespace {

std::unique_ptr<core::PartedLatency> made(const std::string& text, std::string_view name,
                                          std::string_view device = "H100", std::int64_t ranks = 1) {
  const Choice choice = parse_component(text, "latency", latency::latency_descriptors()).value();
  const model::ModelShape& shape = *model::find_model(name).value();
  latency::LatencyRequest request = latency::LatencyRequest::one_rank(shape);
  request.tensor_ranks = ranks;
  request.token_bytes /= ranks;
  request.device = model::find_device(device).value();
  auto model = latency::latency_entry(choice).make(choice, request).value();
  return std::unique_ptr<core::PartedLatency>(dynamic_cast<core::PartedLatency*>(model.release()));
}

core::StepLoad decoding(std::int64_t requests, std::int64_t length) {
  const std::int64_t context = requests * (length - 1);
  return {.requests = requests,
          .tokens = requests,
          .context_tokens = context,
          .attention_pairs = context + requests};
}

double ms(Ticks ticks) {
  return 1e3 * seconds(ticks);
}

const std::string kBare = "composed:tables=none,overhead_ns=0,kernel_ns=0,memory_efficiency=1";

TEST(Composed, OneRequestOfAnEightBillionModelTakesAboutItsWeights) {
  // 7.5e9 weights are read with 2 bytes each at 3.35e12 bytes/s: 4.48 ms. Attention adds 32 short kernels.
  const double weights = 2e3 * (8030261248.0 - 128256.0 * 4096) / 3.35e12;
  const double step = ms(made(kBare, "llama-3-8b")->step(decoding(1, 1024)));
  EXPECT_GT(step, weights);
  EXPECT_LT(step, 1.12 * weights);
  // Measured products reach 0.75 to 0.9 of the bandwidth.
  EXPECT_GT(ms(made("composed", "llama-3-8b")->step(decoding(1, 1024))), 1.1 * weights);
  EXPECT_LT(ms(made("composed", "llama-3-8b")->step(decoding(1, 1024))), 1.7 * weights);
}

TEST(Composed, EightRanksPayForTalking) {
  for (const std::string_view device : {"H100", "L40S"}) {
    const core::StepLoad load = decoding(64, 2048);
    const double one = ms(made(kBare, "llama-3-70b", device)->step(load));
    const double eight = ms(made(kBare, "llama-3-70b", device, 8)->step(load));
    const double silent =
        ms(made(kBare + ",collective_ns=0,link_efficiency=1", "llama-3-70b", device, 8)->step(load));
    EXPECT_GT(eight, one / 8);
    EXPECT_GT(silent, one / 8) << "links take time even at their rates";
    EXPECT_LT(silent, eight);
    EXPECT_LT(eight, one) << "and are worth it";
  }
}

TEST(Composed, NeverFallsWithTokens) {
  const auto model = made("composed", "qwen3-30b-a3b");
  Ticks before{};
  for (std::int64_t requests = 1; requests <= 512; requests *= 2) {
    const Ticks now = model->step(decoding(requests, 4096));
    EXPECT_GT(now, before);
    before = now;
  }
}

TEST(Composed, MovesBytesTwiceOverTheMemory) {
  EXPECT_NEAR(ms(made("composed", "llama-3-8b")->moving(3'350'000'000)), 2 / 0.9, 1e-6);
}

TEST(Composed, SaysWhatItIsMadeOf) {
  const auto has = [](const std::string& line, std::string_view part) {
    EXPECT_NE(line.find(part), std::string::npos) << line;
  };
  const auto lines = made("composed", "llama-3-8b", "H100", 8)->assumptions();
  ASSERT_EQ(lines.size(), 4U);
  has(lines[0], "Decode attention time comes from tables of vllm 0.24.0 on h100-sxm (vllm_flash_attn_fa3");
  has(lines[1],
      "Times of matrix products come from tables of vllm 0.24.0 on h100 (bfloat16), those of prompt "
      "attention from vllm 0.24.0 on h100 (bfloat16)");
  has(lines[2], "all-reduce in times that were measured with vllm 0.24.0 on h100 (vLLM_custom_graph)");
  has(lines[3], "attention 0.588 ms (table)");
  has(lines[3], "; without measured tables it would take ");
  const auto bare = made("composed:engine=sglang", "llama-3-8b")->assumptions();
  ASSERT_EQ(bare.size(), 3U) << "one rank sends nothing";
  EXPECT_EQ(bare[0],
            "Decode attention time is a roofline estimate from the figures of h100-sxm: no table has kernels "
            "of sglang on it.");
  has(bare[1], "tables of sglang 0.5.14 on h100");
  EXPECT_EQ(made("composed", "deepseek-v3")->assumptions()[0],
            "Decode attention time is a roofline estimate from the figures of h100-sxm: no table has kernels "
            "for latent vectors.");
  has(made("composed", "mixtral-8x7b")->assumptions()[1], "those of experts from vllm 0.24.0 on h100");
  has(made("composed", "llama-3-8b", "mi300x")->assumptions()[1], "No table was measured on mi300x");
  has(made("composed:tables=none", "llama-3-8b", "H100", 8)->assumptions()[1], "assumed");
  has(made("composed:tables=none", "llama-3-8b", "H100", 8)->assumptions()[2], "450e9 bytes/s over NVLink");
  has(made("composed:engine_version=0.11.0", "llama-3-8b")->assumptions()[2], "(extrapolated)");
}

TEST(Composed, PartsSumToTheStep) {
  for (const char* text : {"composed", "composed:tables=none"}) {
    for (const char* model_name : {"llama-3-8b", "mixtral-8x7b", "deepseek-v2"}) {
      const auto model = made(text, model_name, "H200", 4);
      core::StepLoad mixed = decoding(20, 900);
      mixed.tokens += 1000;
      mixed.requests += 1;
      mixed.context_tokens += 500;
      mixed.add_pairs(core::StepLoad::pairs(500, 1000));
      for (const core::StepLoad& load : {decoding(1, 1), decoding(64, 2048), mixed}) {
        const core::StepParts parts = model->parts(load);
        Wide sum = 0;
        for (const Wide ticks : parts.ticks) {
          EXPECT_GE(ticks, 0);
          sum += ticks;
        }
        EXPECT_EQ(sum, Wide{model->step(load).count}) << text << " " << model_name;
      }
      EXPECT_GT(model->parts(mixed).of(core::StepPart::kPrefillAttention), 0);
      EXPECT_GT(model->parts(mixed).of(core::StepPart::kLinks), 0);
    }
  }
}

TEST(Composed, ARequestTakesTimeOutsideTheEngine) {
  EXPECT_EQ(ms(made("composed", "llama-3-8b")->outside(0)), 40);
  EXPECT_EQ(ms(made("composed", "llama-3-8b")->outside(1000)), 46);
  EXPECT_EQ(ms(made("composed:engine=sglang", "llama-3-8b")->outside(0)), 220);
  EXPECT_EQ(ms(made("composed:request_ns=1e6,prompt_token_ns=0", "llama-3-8b")->outside(1000)), 1);
  const Choice choice =
      parse_component("composed:request_ns=none", "latency", latency::latency_descriptors()).value();
  latency::LatencyRequest request =
      latency::LatencyRequest::one_rank(*model::find_model("llama-3-8b").value());
  request.device = model::find_device("H100").value();
  EXPECT_EQ(latency::latency_entry(choice).make(choice, request).error().to_string(),
            "latency.request_ns: expected a number from 0 to 1e+12, found \"none\"");
}

/// Weights of fewer bits are read faster, and fp8 products of a prompt computed faster.
TEST(Composed, FormatsOfWeightsCount) {
  const auto with_bits = [](std::int64_t bits, std::string_view device) {
    const Choice choice = parse_component("composed", "latency", latency::latency_descriptors()).value();
    latency::LatencyRequest request =
        latency::LatencyRequest::one_rank(*model::find_model("llama-3-70b").value());
    request.fine_weight_bits = bits << 16;
    request.device = model::find_device(device).value();
    return latency::latency_entry(choice).make(choice, request).value();
  };
  core::StepLoad prompt{.requests = 1, .tokens = 4096};
  prompt.add_pairs(core::StepLoad::pairs(0, 4096));
  for (const char* device : {"H200", "B200"}) {
    EXPECT_LT(ms(with_bits(8, device)->step(decoding(1, 100))),
              0.85 * ms(with_bits(16, device)->step(decoding(1, 100))));
    EXPECT_LT(ms(with_bits(8, device)->step(prompt)), 0.8 * ms(with_bits(16, device)->step(prompt)));
  }
  EXPECT_LT(ms(with_bits(4, "B200")->step(prompt)), 0.8 * ms(with_bits(8, "B200")->step(prompt)));
}

runs::Scenario scenario_of(const std::vector<std::string>& texts) {
  std::vector<runs::Setting> settings;
  for (const std::string& text : texts) settings.push_back(runs::parse_setting(text).value());
  auto scenario = runs::resolve(settings);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  return std::move(scenario).value();
}

std::string outputs(const runs::Scenario& scenario, const traces::Trace& trace, bool step_by_step) {
  runs::RunOptions options;
  options.step_by_step = step_by_step;
  options.timeline_bins = 5;
  const auto result = runs::run_scenario(scenario, trace, options);
  if (!result.ok()) return result.error().to_string();
  return runs::report_json(result.value()) + runs::requests_csv(result.value()) +
         runs::timeline_csv(result.value());
}

/// Long answers, so that contexts pass many knots of the tables.
traces::Trace drawn_trace(Random& random) {
  traces::Trace trace = test::random_trace(random, {.requests = random.between(1, 30),
                                                    .hash_block = random.chance(1, 2) ? 0 : 16,
                                                    .most_input = random.chance(1, 2) ? 6000 : 300,
                                                    .most_output = random.chance(1, 2) ? 900 : 100,
                                                    .most_gap_ms = random.chance(1, 2) ? 5 : 200});
  trace.digest = "0123456789abcdef";
  return trace;
}

TEST(Composed, RunsInClosedFormAreRunsStepByStep) {
  constexpr std::array<const char*, 5> kModels{"llama-3-8b", "gpt-oss-20b", "mixtral-8x7b", "gemma-3-27b",
                                               "deepseek-v2"};
  constexpr std::array<const char*, 4> kDevices{"H100", "L40S", "B200", "mi300x"};
  constexpr std::array<const char*, 4> kMemory{"paged", "grouped", "contiguous", "no-cache"};
  std::int64_t completed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed, "composed runs");
    const traces::Trace trace = drawn_trace(random);
    const std::string memory = kMemory[random.below(seed % 8 == 0 ? 4 : 3)];
    std::vector<std::string> texts{
        std::string("model=") + kModels[random.below(kModels.size())],
        std::string("deployment.device=") + kDevices[random.below(kDevices.size())],
        "deployment.tp=" + std::to_string(random.chance(1, 2) ? 1 : 4),
        "deployment.pp=" + std::to_string(random.chance(2, 3) ? 1 : 2),
        "memory.allocator=" + memory,
        "memory.pool_tokens=" + std::to_string(random.between(7000, 60'000)),
        "fleet.replicas=" + std::to_string(random.between(1, 2)),
        random.chance(1, 3) ? "latency=composed:overhead_ns=1000.3,kernel_ns=0.7" : "latency=composed"};
    if (memory == "paged" && random.chance(1, 4)) texts.emplace_back("eviction=window:window=512");
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + texts[0] + " " + texts[1] + " " + memory);
    const runs::Scenario scenario = scenario_of(texts);
    const std::string fast = outputs(scenario, trace, false);
    ASSERT_EQ(fast, outputs(scenario, trace, true));
    completed += fast.find("\"completed\"") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(completed, 40);
}

TEST(Composed, ARunSaysWhereTheTimeOfStepsGoes) {
  std::int64_t checked = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, "composed step times");
    traces::Trace trace = drawn_trace(random);
    std::fill(trace.arrival_ns.begin(), trace.arrival_ns.end(), 0);  // steps follow each other without a gap
    std::vector<std::string> texts{"model=gpt-oss-20b", "deployment.device=H100", "deployment.tp=2",
                                   "memory.pool_tokens=20000", "latency=composed"};
    const auto run = runs::run_scenario(scenario_of(texts), trace, {});
    ASSERT_TRUE(run.ok()) << run.error().to_string();
    ASSERT_TRUE(run.value().step_time);
    const runs::StepTimeSummary& times = *run.value().step_time;
    double sum = 0, shares = 0;
    for (std::size_t i = 0; i < core::kStepParts; ++i) {
      EXPECT_GE(times.seconds[i], 0) << runs::kStepTimeNames[i];
      sum += times.seconds[i];
      shares += times.shares[i];
    }
    const double span = seconds(run.value().makespan);
    EXPECT_NEAR(sum, span, 1e-12 * span);
    if (run.value().completed == 0) continue;
    ++checked;
    EXPECT_NEAR(shares, 1, 1e-12);
    const auto model = made("composed", "gpt-oss-20b", "H100", 2);
    Wide outside = 0;
    for (std::size_t i = 0; i < run.value().records.size(); ++i)
      if (run.value().records[i].status == observe::RequestStatus::kCompleted)
        outside += model->outside(run.value().input[i]).count;
    EXPECT_NEAR(times.seconds.back(), seconds({static_cast<std::int64_t>(outside)}), 1e-9);
    EXPECT_NEAR(times.shares.back(),
                times.seconds.back() / (run.value().e2e->mean * static_cast<double>(run.value().completed)),
                1e-9);
  }
  EXPECT_GT(checked, 6);
  Random random(1, "composed step times");
  const traces::Trace trace = drawn_trace(random);
  const auto other = runs::run_scenario(
      scenario_of({"model=llama-3-8b", "memory.pool_tokens=20000", "latency=affine"}), trace, {});
  ASSERT_TRUE(other.ok()) << other.error().to_string();
  EXPECT_FALSE(other.value().step_time);
  EXPECT_NE(runs::report_json(other.value()).find("\"step_time\": null"), std::string::npos);
}

TEST(Composed, ARunRepeatsIt) {
  Random random(2, "composed report");
  const traces::Trace trace = drawn_trace(random);
  const auto result = runs::run_scenario(
      scenario_of({"model=gpt-oss-20b", "deployment.device=L40S", "deployment.tp=2", "latency=composed"}),
      trace, {});
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  const auto says = [&](std::string_view begin) {
    const auto& lines = result.value().assumptions;
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.starts_with(begin); });
  };
  EXPECT_TRUE(says("Decode attention time comes from tables of vllm 0.24.0 on l40s"));
  EXPECT_TRUE(says("Tensor-parallel ranks all-reduce in times that were measured with vllm 0.22.0 on l40s"));
  EXPECT_TRUE(says("A decode step of 32 requests"));
  EXPECT_TRUE(says("Weights count as the checkpoint stores them: experts "));
  EXPECT_FALSE(says("Step times are roofline"));
  EXPECT_FALSE(says("Every step reads the weights of all experts"));
}

/// Curves are made at their first use, by any thread.
TEST(Composed, ManyThreadsAskAtOnce) {
  const auto alone = made("composed", "llama-3-8b");
  const auto shared = made("composed", "llama-3-8b");
  std::vector<std::vector<Ticks>> found(4);
  std::vector<std::thread> threads;
  for (std::vector<Ticks>& mine : found)
    threads.emplace_back([&shared, &mine] {
      for (std::int64_t requests = 1; requests <= 60; ++requests)
        mine.push_back(shared->step(decoding(requests, 700)));
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Ticks>& mine : found)
    for (std::int64_t requests = 1; requests <= 60; ++requests)
      ASSERT_EQ(mine[static_cast<std::size_t>(requests - 1)], alone->step(decoding(requests, 700)));
}

TEST(Composed, IsTheDefaultWhereADeviceIsKnown) {
  const auto taken = [](std::vector<std::string> sets) {
    return std::string(scenario_of(sets).latency.to_string());
  };
  const auto begins = [&](std::vector<std::string> sets, std::string_view with) {
    const std::string text = taken(sets);
    EXPECT_TRUE(text.starts_with(with)) << sets.front() << ": " << text;
  };
  begins({"model=llama-3-8b"}, "roofline");
  begins({"model=llama-3-8b", "deployment.device=h100-sxm"}, "composed:engine=vllm");
  // For any number of ranks that share the heads, the step is computed in the same way.
  for (const char* ranks : {"deployment.tp=1", "deployment.tp=2", "deployment.tp=8"})
    begins({"model=llama-2-7b", "deployment.device=h100-sxm", ranks}, "composed:");
  begins({"model=llama-3-8b", "deployment.device=mi300x"}, "composed:");  // no tables of its own
  begins({"model=gpt-oss-20b", "deployment.device=h100-sxm"}, "composed:");
  begins({"model=deepseek-v3", "deployment.device=h200-sxm"}, "composed:");
  begins({"model=./config.json", "deployment.device=h100-sxm"}, "composed:");
  begins({"engine=sglang", "deployment.device=h200-sxm"}, "composed:engine=sglang");
  begins({"engine=sglang", "deployment.device=h100-sxm"}, "composed:engine=sglang");
  // A given value is used; an older report states it as a default too.
  begins({"latency=roofline", "deployment.device=h100-sxm"}, "roofline:");
  std::vector<runs::Setting> stored{{"deployment.device", "h100-sxm", {}, 0}, {"latency", "roofline", {}, 0}};
  stored.back().origin = runs::Origin::kDefault;
  EXPECT_EQ(runs::resolve(stored).value().latency.name(), "roofline");
  const runs::Scenario told = scenario_of({"deployment.device=h100-sxm"});
  EXPECT_EQ(told.origin("latency"), runs::Origin::kDefault);
  EXPECT_EQ(told.text("latency"), told.latency.to_string());
}

TEST(Composed, NeedsADevice) {
  Random random(1, "composed device");
  EXPECT_EQ(outputs(scenario_of({"latency=composed"}), drawn_trace(random), false),
            "latency: expected deployment.device: composed step times need a device's figures");
}

}  // namespace
}  // namespace kvplan
