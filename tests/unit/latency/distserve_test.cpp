// The latency model `distserve`: the paper's two formulas, implemented again from the requests of a step.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "simulator/base/random.h"
#include "simulator/latency/latencies.h"
#include "simulator/results/report.h"
#include "simulator/run/run.h"
#include "tests/support/random_trace.h"

namespace kvplan {
namespace {

constexpr std::int64_t kLayers = 8;
constexpr std::array<std::int64_t, 2> kWindows{8, 50};

/// Eight layers: all see everything; or one sees 8 tokens and four see 50, so that coefficients are divided by eight.
model::ModelShape shape_of(bool windows) {
  const auto run = [](std::int64_t layers, std::int64_t window) {
    return model::LayerRun{layers, {.heads = 1, .key_size = 4, .value_size = 4, .window = window}};
  };
  model::ModelShape shape;
  shape.layers = kLayers;
  shape.runs = {run(kLayers, 0)};
  if (windows) shape.runs = {run(1, kWindows[0]), run(3, 0), run(4, kWindows[1])};
  return shape;
}

/// Coefficients in ns, as written; whole ones are multiples of eight ticks.
struct Ns {
  std::string base{"0"}, token{"0"}, square{"0"}, decode_base{"0"}, request{"0"}, context{"0"};
};

Result<Choice> chosen(const Ns& ns) {
  return parse_component("distserve:prefill_base_ns=" + ns.base + ",prefill_token_ns=" + ns.token +
                             ",prefill_square_ns=" + ns.square + ",decode_base_ns=" + ns.decode_base +
                             ",decode_request_ns=" + ns.request + ",decode_context_ns=" + ns.context,
                         "latency", latency::latency_descriptors());
}

std::unique_ptr<core::LatencyModel> made(const Ns& ns, const model::ModelShape& shape = shape_of(false)) {
  const Choice choice = chosen(ns).value();
  return latency::latency_entry(choice).make(choice, latency::LatencyRequest::one_rank(shape)).value();
}

/// The part of one request in a step.
struct Piece {
  std::int64_t before, tokens;
};

/// The load as engines add it up.
core::StepLoad load_of(const std::vector<Piece>& pieces, bool windows) {
  core::StepLoad load;
  for (const Piece& piece : pieces) {
    load.requests += 1;
    load.tokens += piece.tokens;
    load.context_tokens += piece.before;
    load.add_pairs(core::StepLoad::pairs(piece.before, piece.tokens));
    for (std::size_t w = 0; windows && w < kWindows.size(); ++w) {
      const auto unseen = [&](std::int64_t at) { return std::max<std::int64_t>(at + 1 - kWindows[w], 0); };
      load.unseen[w].context_tokens += unseen(piece.before);
      for (std::int64_t at = piece.before; at < piece.before + piece.tokens; ++at)
        load.unseen[w].add_pairs(unseen(at));
    }
  }
  return load;
}

/// The formulas over requests, layers and tokens, with whole coefficients. Twice what a layer's tokens see, less
/// themselves, is the square of a prompt where nothing is hidden.
std::int64_t slow_ticks(const Ns& ns, const std::vector<Piece>& pieces, const model::ModelShape& shape) {
  const auto ticks = [](const std::string& text) { return 1024 * std::stoll(text); };
  const bool decoding =
      std::all_of(pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.tokens == 1; });
  std::int64_t sum = ticks(decoding ? ns.decode_base : ns.base);
  for (const Piece& piece : pieces) {
    sum += decoding ? ticks(ns.request) : ticks(ns.token) * piece.tokens;
    for (const model::LayerRun& run : shape.runs) {
      const std::int64_t window = run.cache.window == 0 ? INT64_MAX : run.cache.window;
      const std::int64_t context = std::min(piece.before, window - 1);
      std::int64_t squares = 0;
      for (std::int64_t at = piece.before; at < piece.before + piece.tokens; ++at)
        squares += 2 * std::min(at + 1, window) - 1;
      sum += run.layers * context * (ticks(ns.context) / kLayers);
      if (!decoding) sum += run.layers * squares * (ticks(ns.square) / kLayers);
    }
  }
  return sum;
}

Ns drawn_ns(Random& random) {
  const auto drawn = [&](std::int64_t most) {
    return std::to_string(random.chance(1, 6) ? 0 : random.between(1, most));
  };
  return {drawn(1'000'000), drawn(50'000), drawn(90), drawn(1'000'000), drawn(40'000), drawn(700)};
}

TEST(DistServe, WholePromptsTakeThePapersFormula) {
  // OPT-13B: h = 5120, m = 20480, blocks of 16; C1 = 2^-28 ns, C2 = 1/1024 ns, C3 = 7 ns.
  constexpr double kH = 5120, kM = 20480, kB = 16;
  const double token = (4 * kH * kH + 2 * kH * kM) / (1 << 28), square = 3 * kH / kB / 1024;
  const auto model =
      made({.base = "7", .token = std::to_string(token), .square = std::to_string(square), .context = "900"});
  const core::StepLoad load = load_of({{0, 100}, {0, 700}, {0, 3}}, false);
  const double t = 100 + 700 + 3, t2 = 100 * 100 + 700 * 700 + 3 * 3;
  EXPECT_EQ(token, 1.171875);
  EXPECT_EQ(square, 0.9375);
  EXPECT_EQ(static_cast<double>(model->step(load).count), 1024 * (7 + token * t + square * t2));
}

TEST(DistServe, DecodingTakesThePapersFormula) {
  const Ns paper{.base = "5", .token = "9000", .square = "80", .decode_base = "3000000", .context = "600"};
  const std::vector<Piece> pieces{{100, 1}, {700, 1}, {3, 1}};
  EXPECT_EQ(made(paper)->step(load_of(pieces, false)).count, 1024LL * (3'000'000 + 600 * (100 + 700 + 3)));
  Ns code = paper;
  code.request = "40000";
  EXPECT_EQ(made(code)->step(load_of(pieces, false)).count,
            1024LL * (3'000'000 + 40'000 * 3 + 600 * (100 + 700 + 3)));
}

TEST(DistServe, PiecesOfAPromptHaveItsSquareTogether) {
  const auto model = made({.token = "3", .square = "2"});
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed, "distserve pieces");
    const std::int64_t whole = random.between(2, 5000);
    std::int64_t sum = 0;
    for (std::int64_t at = 0; at < whole;) {
      // No piece has one token, which would be a decode step.
      std::int64_t tokens = std::min(random.between(2, 900), whole - at);
      if (whole - at - tokens == 1) ++tokens;
      sum += model->step(load_of({{at, tokens}}, false)).count;
      at += tokens;
    }
    ASSERT_EQ(sum, 1024 * (3 * whole + 2 * whole * whole)) << seed;
  }
}

TEST(DistServe, StepsOfAllKindsBesideTheSlowFormula) {
  std::int64_t mixed = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed, "distserve steps");
    const bool windows = random.chance(1, 2);
    const model::ModelShape shape = shape_of(windows);
    const Ns ns = drawn_ns(random);
    std::vector<Piece> pieces;
    const std::int64_t prompts = random.chance(1, 3) ? 0 : random.between(1, 4);
    for (std::int64_t i = random.between(prompts == 0 ? 1 : 0, 30); i > 0; --i)
      pieces.push_back({random.between(0, 300), 1});
    for (std::int64_t i = 0; i < prompts; ++i)
      pieces.push_back({random.chance(1, 2) ? 0 : random.between(1, 300), random.between(2, 200)});
    mixed += prompts > 0 && pieces.front().tokens == 1 ? 1 : 0;
    ASSERT_EQ(made(ns, shape)->step(load_of(pieces, windows)).count, slow_ticks(ns, pieces, shape)) << seed;
  }
  EXPECT_GT(mixed, 1000);
}

TEST(DistServe, ASeriesIsTheSumOfItsSteps) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed, "distserve series");
    const bool windows = random.chance(1, 2);
    const model::ModelShape shape = shape_of(windows);
    const Ns ns = drawn_ns(random);
    const auto model = made(ns, shape);
    // The contexts of some requests grow, others stay (a token policy drops a token with each); all fill the windows.
    std::vector<Piece> pieces;
    const std::int64_t growing = random.between(0, 12), others = random.between(growing == 0 ? 1 : 0, 5);
    for (std::int64_t i = 0; i < growing + others; ++i) pieces.push_back({random.between(50, 2000), 1});
    const std::int64_t most = random.between(1, 5000);
    core::LoadGrowth growth = core::LoadGrowth::of_contexts(growing);
    if (windows) std::fill_n(growth.unseen.begin(), kWindows.size(), growing);
    const core::StepSeries series = model->decode_series(load_of(pieces, windows), growth, most);
    ASSERT_EQ(series.steps, most);
    Wide sum = 0;
    for (std::int64_t k = 0; k < most; ++k) {
      ASSERT_EQ(series.duration(k).count, slow_ticks(ns, pieces, shape)) << seed << " step " << k;
      sum += series.duration(k).count;
      for (std::int64_t i = 0; i < growing; ++i) ++pieces[static_cast<std::size_t>(i)].before;
    }
    ASSERT_TRUE(series.span(most) == sum) << seed;
  }
}

TEST(DistServe, WhereNothingIsKeptStepsAreToldOneByOne) {
  const Ns ns{.base = "1000", .token = "30", .square = "2", .decode_base = "9", .request = "9"};
  const core::LoadGrowth growth{.tokens = 2, .attention_pairs = 102, .pairs_growth = 2};
  const std::vector<Piece> whole{{0, 40}, {0, 60}};
  const core::StepSeries series = made(ns)->decode_series(load_of(whole, false), growth, 100);
  EXPECT_EQ(series.steps, 1);
  EXPECT_EQ(series.first.count, slow_ticks(ns, whole, shape_of(false)));
  // One token each, and more in the next step: that one is no longer a decode step.
  EXPECT_EQ(made(ns)->decode_series(load_of({{0, 1}, {0, 1}}, false), growth, 100).steps, 1);
}

TEST(DistServe, HugeLoadsAreCutAndHugeCoefficientsRefused) {
  constexpr std::int64_t kMost = core::kLongestStepTicks;
  const std::string most = "1e12";
  const auto model = made({most, most, most, most, most, most}, shape_of(true));
  core::StepLoad huge{
      .requests = 1, .tokens = std::int64_t{1} << 50, .context_tokens = std::int64_t{1} << 60};
  huge.add_pairs(core::StepLoad::pairs(huge.context_tokens, huge.tokens));
  EXPECT_EQ(huge.attention_pairs, core::kMostAttentionPairs);
  EXPECT_EQ(model->step(huge).count, kMost);
  EXPECT_EQ(made({.square = "0.001"})->step(huge).count, kMost);
  EXPECT_EQ(made({.base = "3"})->step(huge).count, 3 * 1024) << "cut pairs that cost nothing";
  // All pairs that are counted are hidden, in all layers.
  model::ModelShape hiding = shape_of(true);
  hiding.runs[1].cache.window = kWindows[1];
  huge.unseen[0] = huge.unseen[1] = {huge.context_tokens, huge.attention_pairs};
  EXPECT_GE(made({.square = "8"}, hiding)->step(huge).count, 0);

  // 6.9 days, and 1.2 more with each step: the first six are below 13.
  const core::StepLoad decode{.requests = 1, .tokens = 1, .context_tokens = 600, .attention_pairs = 601};
  const auto slow = made({.decode_base = "0", .context = "1e12"});
  const core::LoadGrowth growth = core::LoadGrowth::of_contexts(100);
  const core::StepSeries series = slow->decode_series(decode, growth, 1'000'000);
  EXPECT_EQ(series.steps, 6);
  for (std::int64_t k = 0; k < series.steps; ++k) {
    core::StepLoad later = decode;
    later.context_tokens += 100 * k;
    EXPECT_EQ(series.duration(k), slow->step(later)) << k;
    EXPECT_LE(series.duration(k).count, kMost);
  }

  for (const char* wrong : {"1e13", "-1", "many", "nan"})
    for (std::string Ns::*which :
         {&Ns::base, &Ns::token, &Ns::square, &Ns::decode_base, &Ns::request, &Ns::context}) {
      Ns ns;
      ns.*which = wrong;
      EXPECT_FALSE(chosen(ns).ok()) << wrong;
    }
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

TEST(DistServe, RunsInClosedFormAreRunsStepByStep) {
  constexpr std::array<const char*, 3> kModels{"llama-3-8b", "gemma-3-27b", "deepseek-v2"};
  constexpr std::array<const char*, 4> kMemory{"paged", "grouped", "contiguous", "no-cache"};
  std::int64_t completed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed, "distserve runs");
    traces::Trace trace = test::random_trace(random, {.requests = random.between(1, 30),
                                                      .hash_block = random.chance(1, 2) ? 0 : 16,
                                                      .most_input = random.chance(1, 2) ? 6000 : 300,
                                                      .most_output = random.chance(1, 2) ? 900 : 100,
                                                      .most_gap_ms = random.chance(1, 2) ? 5 : 200});
    trace.digest = "0123456789abcdef";
    const std::string memory = kMemory[random.below(seed % 8 == 0 ? 4 : 3)];
    std::vector<std::string> texts{
        std::string("model=") + kModels[random.below(kModels.size())], "memory.allocator=" + memory,
        "memory.pool_tokens=" + std::to_string(random.between(7000, 60'000)),
        "fleet.replicas=" + std::to_string(random.between(1, 2)),
        random.chance(1, 3) ? "latency=distserve:prefill_square_ns=0.7,decode_base_ns=1000.3"
                            : "latency=distserve"};
    if (memory == "paged" && random.chance(1, 4)) texts.emplace_back("eviction=window:window=512");
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + texts[0] + " " + memory);
    std::vector<runs::Setting> settings;
    for (const std::string& text : texts) settings.push_back(runs::parse_setting(text).value());
    const auto scenario = runs::resolve(settings);
    ASSERT_TRUE(scenario.ok()) << scenario.error().to_string();
    const std::string fast = outputs(scenario.value(), trace, false);
    ASSERT_EQ(fast, outputs(scenario.value(), trace, true));
    if (fast.find("\"completed\"") == std::string::npos) continue;
    ++completed;
    EXPECT_NE(fast.find("Step times follow DistServe's formulas"), std::string::npos);
  }
  EXPECT_GT(completed, 25);
}

}  // namespace
}  // namespace kvplan
