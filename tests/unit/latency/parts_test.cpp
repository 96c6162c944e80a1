// The parts of a composed step: known results of each by hand, and curves compared with their knots.
#include <gtest/gtest.h>

#include "simulator/base/random.h"
#include "simulator/kernels/attention_roofline.h"
#include "simulator/latency/parts/attention_part.h"
#include "simulator/latency/parts/links_part.h"
#include "simulator/latency/parts/weights_part.h"
#include "simulator/model/ranks.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/device_catalogue.h"
#include "simulator/topology/cluster.h"

namespace kvplan::latency {
namespace {

const model::ModelShape& model_of(std::string_view name) {
  return *model::find_model(name).value();
}

StepShape shape_of(const model::ModelShape& m, std::string_view device = "H100", std::int64_t ranks = 1,
                   std::int64_t stages = 1) {
  std::int64_t elements = 0;
  for (const model::LayerRun& run : m.runs)
    elements += run.layers * model::share_of(run.cache, ranks).elements();
  return {.model = m,
          .device = *model::find_device(device).value(),
          .tensor_ranks = ranks,
          .stages = stages,
          .token_bytes = 2 * elements};
}

kernels::DecodeTimes tables_of(std::string_view gpu, const char* engine = "vllm") {
  return {kernels::kernel_tables(), {{std::string(gpu)}, engine, ""}};
}

/// Decoding requests with `length` tokens each, the new one included.
core::StepLoad decoding(std::int64_t requests, std::int64_t length) {
  const std::int64_t context = requests * (length - 1);
  return {.requests = requests,
          .tokens = requests,
          .context_tokens = context,
          .attention_pairs = context + requests};
}

double ms(Wide ticks) {
  return static_cast<double>(ticks) / (1024 * 1e6);
}

TEST(TickCurve, HitsItsKnotsAndIsStraightBetween) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed, "tick curve");
    std::vector<TickKnot> knots{{0, random.between(0, 50)}};
    for (std::int64_t n = random.between(0, 5); n > 0; --n)
      knots.push_back({knots.back().at + random.between(1, 30), random.between(0, 900)});
    const std::int64_t slope = random.between(0, 9);
    const TickCurve curve(knots, slope);
    for (const TickKnot& knot : knots) ASSERT_EQ(curve.piece(knot.at).ticks(knot.at), knot.ticks);
    for (std::int64_t at = 0; at < knots.back().at; ++at) {
      const TickPiece piece = curve.piece(at);
      ASSERT_LE(piece.begin, at);
      ASSERT_GT(piece.end, at) << "a token further is the same piece";
      ASSERT_EQ(piece.ticks(at + 1), curve.piece(at + 1).ticks(at + 1));
      std::size_t high = 1;
      while (knots[high].at <= at) ++high;
      const TickKnot &a = knots[high - 1], &b = knots[high];
      const double share = static_cast<double>(at - a.at) / static_cast<double>(b.at - a.at);
      const double straight = static_cast<double>(a.ticks) + static_cast<double>(b.ticks - a.ticks) * share;
      // Below the straight line by less than one tick for each token up to the second knot.
      ASSERT_LE(static_cast<double>(curve.piece(at).ticks(at)), straight + 1e-9);
      ASSERT_GE(static_cast<double>(curve.piece(at).ticks(at)), straight - static_cast<double>(b.at - a.at));
    }
    const std::int64_t far = knots.back().at + 1000;
    ASSERT_EQ(curve.piece(far).ticks(far), knots.back().ticks + 1000 * slope);
  }
}

/// Every measured call for the model's heads, times the model's number of layers, exact to the tick.
TEST(Attention, IsTheTableAtItsPoints) {
  std::int64_t points = 0;
  for (const std::string_view name : {"llama-3-8b", "llama-3-70b", "qwen3-32b"})
    for (const std::int64_t ranks : {1, 2, 4, 8}) {
      const model::ModelShape& m = model_of(name);
      const StepShape shape = shape_of(m, "H100", ranks);
      const AttentionPart part(shape, tables_of("H100"), 0.6);
      for (const kernels::KernelTable& table : kernels::kernel_tables()) {
        if (table.gpu != "H100" || table.window != 0 || table.kv_elem_bytes != 2) continue;
        const kernels::GridAxes& axes = table.grid.axes();
        for (std::size_t i = 0; i < table.grid.places(); ++i) {
          const kernels::GridPlace p = table.grid.place(i);
          if (table.grid.at(p) == 0 || axes.kv_heads[p.kv_heads] != m.kv_heads / ranks ||
              axes.groups[p.group] != m.query_heads / m.kv_heads)
            continue;
          const std::int64_t batch = axes.batches[p.batch], length = axes.lengths[p.length];
          const double ticks = table.grid.at(p) * 1024e3 * static_cast<double>(m.layers);
          ASSERT_EQ(part.decode_ticks(decoding(batch, length)), std::llround(ticks))
              << batch << " x " << length;
          ASSERT_EQ(part.source(batch, length), kernels::TimeSource::kTable);
          ++points;
        }
      }
    }
  EXPECT_GT(points, 500);
}

TEST(Attention, CountsRequestsOfDifferentLengthsByTheirTokens) {
  const StepShape shape = shape_of(model_of("llama-3-8b"));
  const AttentionPart part(shape, tables_of("H100"), 0.6);
  const auto total = [](std::int64_t requests, std::int64_t tokens) {
    return core::StepLoad{.requests = requests,
                          .tokens = requests,
                          .context_tokens = tokens - requests,
                          .attention_pairs = tokens};
  };
  EXPECT_EQ(part.ticks(total(8, 8 * 4096)), part.ticks(decoding(8, 4096)));
  const Wide low = part.ticks(decoding(8, 4096)), high = part.ticks(decoding(8, 8192));
  for (const double share : {0.25, 0.5, 0.75}) {
    const auto tokens = static_cast<std::int64_t>(8 * 4096 * (1 + share));
    const double straight = static_cast<double>(low) + static_cast<double>(high - low) * share;
    EXPECT_NEAR(static_cast<double>(part.ticks(total(8, tokens))), straight, 8 * 4096);
  }
  EXPECT_EQ(part.source(8, 5000), kernels::TimeSource::kInterpolated);
  EXPECT_EQ(part.source(8, 1'000'000), kernels::TimeSource::kExtrapolated);
}

/// A batch, heads and element sizes that the tables lack: as in kvplan latency.
TEST(Attention, BetweenAndBeyondIsWhatTheKernelsSay) {
  for (const std::string_view name : {"llama-3-8b", "gpt-oss-20b", "qwen2.5-7b", "gemma-3-27b"}) {
    const model::ModelShape& m = model_of(name);
    const StepShape shape = shape_of(m);
    const kernels::DecodeTimes tables = tables_of("H100");
    const AttentionPart part(shape, tables_of("H100"), 0.6);
    for (const std::int64_t batch : {3, 48, 5000})
      for (const std::int64_t length : {100, 3000, 200'000}) {
        const model::LayerCache& cache = m.runs.front().cache;
        const auto time = tables({.batch = batch,
                                  .kv_len = length,
                                  .q_heads = m.query_heads,
                                  .kv_heads = m.kv_heads,
                                  .head_dim = cache.key_size});
        ASSERT_TRUE(time);
        const double us = time->us * static_cast<double>(m.layers);
        EXPECT_NEAR(ms(part.decode_ticks(decoding(batch, length))) * 1e3, us, 1e-3 * us)
            << name << " " << batch << " x " << length;
      }
  }
}

TEST(Attention, WithoutATableIsTheRoofline) {
  const model::ModelShape& m = model_of("llama-3-8b");
  const StepShape shape = shape_of(m, "mi300x");
  const AttentionPart part(shape, tables_of("mi300x"), 0.6);
  EXPECT_TRUE(part.tables().empty());
  for (const std::int64_t batch : {1, 32})
    for (const std::int64_t length : {128, 4096, 5000}) {
      const double us = kernels::attention_roofline(
                            {.batch = batch, .kv_len = length, .q_heads = 32, .kv_heads = 8}, shape.device)
                            .us *
                        32;
      EXPECT_NEAR(ms(part.decode_ticks(decoding(batch, length))) * 1e3, us, 1e-4 * us);
    }
  EXPECT_EQ(part.source(1, 128), kernels::TimeSource::kRoofline);
}

TEST(Attention, OfALatentVectorReadsItOnceForAllHeads) {
  const model::ModelShape& m = model_of("deepseek-v3");
  const StepShape shape = shape_of(m);
  const AttentionPart part(shape, tables_of("H100"), 0.6);
  // By hand: 576 elements of 2 bytes a token and layer, 512 + 576 x 2 FLOPs for each of 128 heads, 12 us to start.
  const double tokens = 64.0 * 8192;
  const double reading = (tokens * 576 * 2 + 64.0 * 128 * (576 + 512) * 2) / 3.2e12;
  const double computing = tokens * 128 * 2 * (576 + 512) / (0.6 * 989e12);
  EXPECT_NEAR(ms(part.decode_ticks(decoding(64, 8192))), 61 * (0.012 + 1e3 * std::max(reading, computing)),
              0.01);
}

TEST(Attention, OfPromptsComputesPairs) {
  const model::ModelShape& m = model_of("llama-3-8b");
  const AttentionPart part(shape_of(m), tables_of("H100"), 0.5);
  const core::StepLoad prompt{
      .requests = 1, .tokens = 8000, .context_tokens = 0, .attention_pairs = 8000LL * 8001 / 2};
  const double flops = 4.0 * 32 * 128 * 32 * (8000.0 * 8001 / 2 - 1);
  EXPECT_NEAR(ms(part.ticks(prompt) - part.decode_ticks(prompt)), flops / (0.5 * 989e12) * 1e3, 1e-3);
}

/// Windows: half of the layers see 128 tokens.
TEST(Attention, OfLayersWithAWindowIsThatOfTheirTable) {
  model::ModelShape m = model_of("llama-3-8b");
  model::LayerRun half = m.runs.front();
  half.layers = 16;
  m.runs = {half, half};
  m.runs[1].cache.window = 128;
  StepShape shape = shape_of(m);
  const auto layers = [&](std::int64_t batch, std::int64_t length, std::int64_t window) {
    return 16 * tables_of("H100")(
                    {.batch = batch, .kv_len = length, .q_heads = 32, .kv_heads = 8, .window = window})
                    ->us;
  };
  core::StepLoad load = decoding(32, 8192);
  {
    const AttentionPart part(shape, tables_of("H100"), 0.6);
    EXPECT_NEAR(ms(part.ticks(load)) * 1e3, 2 * layers(32, 8192, 0), 0.1) << "everything is read";
  }
  shape.follows_windows = true;
  const AttentionPart part(shape, tables_of("H100"), 0.6);
  load.unseen[0] = {32 * (8192 - 128), 32 * (8192 - 128)};
  EXPECT_NEAR(ms(part.ticks(load)) * 1e3, layers(32, 8192, 0) + layers(32, 8192, 128), 0.1);
  const core::StepLoad few = decoding(32, 100);
  EXPECT_NEAR(ms(part.ticks(few)) * 1e3, layers(32, 100, 0) + layers(32, 100, 128), 0.1);
}

/// One token reads its own experts, many tokens read all; each further token adds fewer experts, as fewer are left.
TEST(Weights, ExpertsAreReadByBatch) {
  const model::ModelShape& m = model_of("mixtral-8x7b");
  const WeightsPart part = WeightsPart::make(shape_of(m), {1, 1}).value();
  EXPECT_NEAR(part.distinct_experts(1), 2, 1e-9);
  EXPECT_NEAR(part.distinct_experts(2), 8 * (1 - 0.75 * 0.75), 1e-9);
  EXPECT_NEAR(part.distinct_experts(1000), 8, 1e-9);
  // Simulated: four tokens that each choose two of eight, with equal probability.
  Random random(7, "experts");
  double found = 0;
  constexpr int kDraws = 20'000;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::uint64_t chosen = 0;
    for (int token = 0; token < 4; ++token) {
      const std::uint64_t first = random.below(8), second = (first + 1 + random.below(7)) % 8;
      chosen |= std::uint64_t{1} << first | std::uint64_t{1} << second;
    }
    found += static_cast<double>(__builtin_popcountll(chosen));
  }
  EXPECT_NEAR(part.distinct_experts(4), found / kDraws, 0.03);
  const model::WeightCounts counts = m.weights().value();
  EXPECT_NEAR(ms(part.read_ticks(1)), 2e3 * static_cast<double>(counts.multiplied) / 3.35e12, 1e-3);
  EXPECT_NEAR(ms(part.read_ticks(100'000)), 2e3 * static_cast<double>(counts.read) / 3.35e12, 1e-3);
}

TEST(Weights, AreReadByFewAndMultipliedByMany) {
  const model::ModelShape& m = model_of("llama-3-8b");
  const model::WeightCounts counts = m.weights().value();
  const WeightsPart part = WeightsPart::make(shape_of(m), {0.5, 0.8}).value();
  EXPECT_NEAR(ms(part.ticks(1, 1)), 2e3 * static_cast<double>(counts.read) / (0.8 * 3.35e12), 1e-3);
  const auto output = static_cast<double>(m.weight_shape.vocabulary * m.hidden);
  const double layers = static_cast<double>(counts.multiplied) - output;
  // The output layer is read for one request, for any number of tokens.
  EXPECT_NEAR(ms(part.ticks(8192, 1)), 2e3 * 8192 * layers / (0.5 * 989e12) + 2e3 * output / (0.8 * 3.35e12),
              1e-2);
  // Ranks share the work; stages come one after the other.
  const WeightsPart eighth = WeightsPart::make(shape_of(m, "H100", 8), {0.5, 0.8}).value();
  EXPECT_NEAR(ms(eighth.ticks(1, 1)) * 8 / ms(part.ticks(1, 1)), 1, 1e-3);
  const WeightsPart staged = WeightsPart::make(shape_of(m, "H100", 1, 4), {0.5, 0.8}).value();
  EXPECT_NEAR(ms(staged.ticks(1, 1)) / ms(part.ticks(1, 1)), 1, 1e-6);
}

constexpr LinkRates kLinks{
    .efficiency = 1, .collective_ns = 1000, .node_devices = 8, .network_bytes_per_s = 50'000'000'000};

TEST(Links, EightRanksSumTwiceALayer) {
  const model::ModelShape& m = model_of("llama-3-8b");
  EXPECT_EQ(LinksPart::make(shape_of(m), kLinks).value().ticks(100, 10), 0) << "one rank";
  const LinksPart part = LinksPart::make(shape_of(m, "H100", 8), kLinks).value();
  // By hand: 65 all-reduces of 100 x 4096 halves in 14 rounds, an all-gather of 10 x 128256 halves in 7.
  const double reduce_ns = 1000 + 14 * 470 + 14.0 / 8 * 100 * 4096 * 2 / 450;
  const double gather_ns = 1000 + 7 * 470 + 7.0 / 8 * 10 * 128256 * 2 / 450;
  EXPECT_NEAR(ms(part.ticks(100, 10)) * 1e6, 65 * reduce_ns + gather_ns, 10);
  EXPECT_EQ(part.within_stage(), "450e9 bytes/s over NVLink");
  EXPECT_EQ(part.between_stages(), "");
  EXPECT_GT(LinksPart::make(shape_of(m, "L40S", 8), kLinks).value().ticks(100, 10), 5 * part.ticks(100, 10));
}

TEST(Links, StagesPassHiddenStatesOn) {
  const model::ModelShape& m = model_of("llama-3-8b");
  const LinksPart part = LinksPart::make(shape_of(m, "H100", 1, 2), kLinks).value();
  EXPECT_NEAR(ms(part.ticks(100, 10)) * 1e6, 1000 + 470 + 2.0 * 100 * 4096 * 2 / 450, 10);
  // Over the network each rank sends its half, and two ranks gather the whole.
  LinkRates small = kLinks;
  small.node_devices = 2;
  const LinksPart far = LinksPart::make(shape_of(m, "H100", 2, 2), small).value();
  const double bytes = 2.0 * 100 * 4096 * 2;
  const double sent_ns = 1000 + 2700 + bytes / 2 / 50;
  const double gathered_ns = 1000 + 470 + bytes / 2 / 450;
  const double reduced_ns = 65 * (1000 + 2 * 470 + 100 * 4096 * 2 / 450.0);
  const double logits_ns = 1000 + 470 + 0.5 * 10 * 128256 * 2 / 450;
  EXPECT_NEAR(ms(far.ticks(100, 10)) * 1e6, sent_ns + gathered_ns + reduced_ns + logits_ns, 20);
  EXPECT_EQ(far.between_stages(), "50e9 bytes/s over the network between nodes");
}

}  // namespace
}  // namespace kvplan::latency
