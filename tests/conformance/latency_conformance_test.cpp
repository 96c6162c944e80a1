// The contract of every latency model, tested on every member of the catalogue: a series gives each of its steps the
// duration that the step alone would have. A new model is tested here as soon as it is in the catalogue.
#include <gtest/gtest.h>

#include <utility>

#include "simulator/base/random.h"
#include "simulator/latency/latencies.h"
#include "simulator/model/ranks.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/device_catalogue.h"
#include "tests/support/random_cases.h"

namespace kvplan {
namespace {

/// Measured steps of a few sequences, prompts and contexts; durations that grow with them, with noise or without.
latency::StepTable drawn_steps(Random& random) {
  std::vector<latency::MeasuredStep> steps;
  const bool noise = random.chance(1, 3);
  for (std::int64_t row = random.between(1, 4); row > 0; --row) {
    const std::int64_t sequences = random.between(1, 300);
    for (std::int64_t curve = random.between(1, 3); curve > 0; --curve) {
      const std::int64_t prompt = random.chance(1, 2) ? 0 : random.between(0, 4000);
      for (std::int64_t knot = random.between(1, 6); knot > 0; --knot) {
        const std::int64_t context = random.between(0, random.chance(1, 2) ? 1'000'000 : 1000);
        const std::int64_t ticks =
            1'000'000 + 37 * sequences + 1001 * prompt + 51 * context / (random.chance(1, 2) ? 1 : 7);
        steps.push_back({sequences, sequences + prompt, context,
                         Ticks{noise ? static_cast<std::int64_t>(random.below(5'000'000)) : ticks}});
      }
    }
  }
  return latency::StepTable::make(std::move(steps)).value();
}

/// Parameters at their defaults, at their least values, and with random values between.
std::string drawn(const Descriptor& descriptor, Random& random) {
  std::string text(descriptor.name);
  char separator = ':';
  for (const Param& param : descriptor.params) {
    if (param.names_file && param.fallback.empty()) text += separator + std::string(param.name) + "=x";
    if (param.kind != ParamKind::kDecimal || random.chance(1, 3)) continue;
    const double fallback = std::stod(std::string(param.fallback));
    const double value = random.chance(1, 5)
                             ? static_cast<double>(param.low)
                             : std::clamp(fallback * static_cast<double>(random.between(1, 400)) / 100,
                                          static_cast<double>(param.low), static_cast<double>(param.high));
    text += separator + std::string(param.name) + "=" + std::to_string(value);
    separator = ',';
  }
  return text;
}

TEST(LatencyConformance, SeriesGiveEachStepItsOwnDuration) {
  for (const latency::LatencyEntry* entry : latency::latencies()) {
    std::int64_t long_series = 0, cut_series = 0;
    for (std::uint64_t seed = 1; std::cmp_less_equal(seed, test::random_cases(2000, 600)); ++seed) {
      Random random(seed, "latency conformance");
      const std::string text = drawn(entry->descriptor, random);
      SCOPED_TRACE(text + " seed " + std::to_string(seed));
      const Choice choice = parse_component(text, "latency", latency::latency_descriptors()).value();
      const latency::StepTable measured = drawn_steps(random);
      latency::LatencyRequest request =
          latency::LatencyRequest::one_rank(model::models()[random.below(model::models().size())]);
      request.measured = &measured;
      request.device = &model::devices()[random.below(model::devices().size())];
      request.follows_windows = random.chance(1, 2);
      const auto made = entry->make(choice, request);
      if (!made.ok()) continue;  // coefficients that do not fit ticks: an error, not a series
      const core::LatencyModel& latency = *made.value();
      core::StepLoad load;
      load.requests = load.tokens = random.between(1, 300);
      load.context_tokens = random.between(0, 1'000'000);
      load.attention_pairs = load.context_tokens + load.requests;
      core::LoadGrowth growth = core::LoadGrowth::of_contexts(random.between(0, load.requests));
      if (random.chance(1, 2)) {  // without KV cache: all tokens of the requests are computed again
        const std::int64_t mean = random.between(1, random.chance(1, 2) ? 4 : 3000);
        load.tokens = load.requests * mean;
        load.context_tokens = 0;
        load.attention_pairs = load.requests * mean * (mean + 1) / 2;
        growth = {load.requests, 0, load.requests * (mean + 1), load.requests, {}};
      }
      for (std::size_t w = 0; w < core::kMostWindows && load.context_tokens > 0; ++w) {
        if (random.chance(1, 2)) continue;
        load.unseen[w].context_tokens = load.unseen[w].attention_pairs =
            random.between(0, load.context_tokens / 2);
        growth.unseen[w] = random.between(0, growth.context_tokens);
      }
      const std::int64_t most = random.chance(1, 4) ? 1 : random.between(1, 400);
      const core::StepSeries series = latency.decode_series(load, growth, most);
      ASSERT_GE(series.steps, 1);
      ASSERT_LE(series.steps, most);
      for (std::int64_t k = 0; k < series.steps; ++k) {
        ASSERT_EQ(series.duration(k), latency.step(load)) << "step " << k;
        ASSERT_GE(series.duration(k).count, 0);
        load.tokens += growth.tokens;
        load.context_tokens += growth.context_tokens;
        load.attention_pairs += growth.attention_pairs;
        growth.attention_pairs += growth.pairs_growth;
        for (std::size_t w = 0; w < core::kMostWindows; ++w) {
          load.unseen[w].context_tokens += growth.unseen[w];
          load.unseen[w].attention_pairs += growth.unseen[w];
        }
      }
      long_series += series.steps > 10 ? 1 : 0;
      cut_series += series.steps < most ? 1 : 0;
    }
    EXPECT_GT(long_series, 200) << entry->descriptor.name;
    std::printf("%s: %lld series end before they had to\n", std::string(entry->descriptor.name).c_str(),
                static_cast<long long>(cut_series));
  }
}

TEST(Roofline, RanksShareTheWork) {
  const Choice choice =
      parse_component("roofline:overhead_ns=0", "latency", latency::latency_descriptors()).value();
  const auto& entry = latency::latency_entry(choice);
  const model::ModelShape& shape = *model::find_model("llama-2-7b").value();
  const auto ticks = [&](std::int64_t ranks, std::int64_t stages, std::int64_t weight_bits,
                         const core::StepLoad& load) {
    latency::LatencyRequest request = latency::LatencyRequest::one_rank(shape);
    request.tensor_ranks = ranks;
    request.stages = stages;
    request.fine_weight_bits = weight_bits << 16;
    request.token_bytes /= ranks;  // 32 KV heads
    return static_cast<double>(entry.make(choice, request).value()->step(load).count);
  };
  const core::StepLoad decode{.requests = 1, .tokens = 1, .context_tokens = 1000, .attention_pairs = 1001};
  const core::StepLoad prompt{
      .requests = 1, .tokens = 8000, .context_tokens = 0, .attention_pairs = 8000LL * 8001 / 2};
  // Every rank has whole norms; all other weights are divided.
  for (const core::StepLoad& load : {decode, prompt}) {
    EXPECT_NEAR(ticks(8, 1, 16, load) * 8 / ticks(1, 1, 16, load), 1, 1e-3);
    EXPECT_EQ(ticks(1, 4, 16, load), ticks(1, 1, 16, load)) << "stages one after the other";
  }
  // By hand, H100: weights but the input embedding in two bytes, 1001 tokens of 512 KiB, at 80 % of 3.35e12 bytes/s.
  const double bytes = 2.0 * (6738415616.0 - 32000.0 * 4096) + 1001 * 524288.0;
  EXPECT_NEAR(ticks(1, 1, 16, decode), bytes / (0.8 * 3.35e12) * 1e9 * 1024, 1100);
  EXPECT_LT(ticks(1, 1, 8, decode), 0.55 * ticks(1, 1, 16, decode));
  EXPECT_EQ(ticks(1, 1, 8, prompt), ticks(1, 1, 16, prompt)) << "computing";
}

/// Reads the bytes that were loaded. A mix of number types has no number of bits.
TEST(Roofline, ReadsTheWeightsThatWereLoaded) {
  const Choice choice =
      parse_component("roofline:overhead_ns=0", "latency", latency::latency_descriptors()).value();
  const auto& entry = latency::latency_entry(choice);
  const model::ModelShape& shape = *model::find_model("llama-2-7b").value();
  const core::StepLoad decode{.requests = 1, .tokens = 1, .context_tokens = 1000, .attention_pairs = 1001};
  for (const std::int64_t ranks : {1, 2}) {
    for (const std::int64_t stages : {1, 2}) {
      latency::LatencyRequest request = latency::LatencyRequest::one_rank(shape);
      request.tensor_ranks = ranks;
      request.stages = stages;
      const auto ticks = [&] {
        return static_cast<double>(entry.make(choice, request).value()->step(decode).count);
      };
      const double by_bits = ticks();
      const auto weights = model::weights_of_stages(shape, ranks, stages).value();
      // The stages differ by a norm: here the input embedding and the output matrix have the same size.
      request.weights_bytes = 2 * weights.front().all;
      EXPECT_NEAR(ticks(), by_bits, 1e-5 * by_bits) << ranks << " " << stages;
      request.weights_bytes = 0;
      EXPECT_NEAR(ticks(), 1001 * 524288.0 / (0.8 * 3.35e12) * 1e9 * 1024, 1100) << "cache";
    }
  }
}

}  // namespace
}  // namespace kvplan
