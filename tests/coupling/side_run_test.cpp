// Runs with a format that reads a side file: the stored bytes are those of codecs with that file; a file with equal
// layers equals a number of bytes per token; a file that does not fit the model is reported in one line.
#include <gtest/gtest.h>

#include "tests/coupling/stored_run.h"
#include "tests/support/random_trace.h"

namespace kvplan {
namespace {

using formats::Side;
using formats::SideData;
using formats::SideLayer;
using test::resolved;
using test::Values;

constexpr std::int64_t kLayers = 4;
constexpr std::int32_t kHeads = 4;
constexpr std::int32_t kSize = 8;  // of a key and of a value
constexpr formats::Shape kShape{
    .query_heads = kHeads, .kv_heads = kHeads, .key_size = kSize, .value_size = kSize};

/// Coordinates of keys and of values in each layer.
using Ranks = std::vector<std::pair<std::size_t, std::size_t>>;

/// Unit vectors as bases, for groups of heads.
SideData bases(const Ranks& ranks, std::size_t group) {
  SideData out;
  out.file = "x.side";
  for (std::size_t l = 0; l < ranks.size(); ++l)
    for (const Side side : formats::kSides)
      for (std::size_t g = 0; g < kHeads / group; ++g) {
        formats::Matrix basis(side == Side::kKeys ? ranks[l].first : ranks[l].second, group * kSize);
        for (std::size_t r = 0; r < basis.rows; ++r) basis.at(r, r) = 1;
        out.layers[static_cast<std::int64_t>(l)].bases[static_cast<std::size_t>(side)].push_back(
            std::move(basis));
      }
  return out;
}

/// Tables of 2 to 5 bits, a different one in each layer.
SideData tables(Random& random) {
  SideData out;
  out.file = "x.side";
  for (std::int64_t l = 0; l < kLayers; ++l) {
    SideLayer& layer = out.layers[l];
    const std::int64_t numbers = std::int64_t{1} << random.between(2, 5);
    for (auto& table : layer.tables)
      for (std::int64_t i = 0; i < numbers; ++i) table.push_back(static_cast<double>(i));
    layer.key_thresholds.assign(kHeads, std::vector<formats::Thresholds>(kSize, {-1, 1}));
  }
  return out;
}

/// Options that read this side file, under any name.
runs::RunOptions options(const SideData& side) {
  runs::RunOptions out = test::options_with(kLayers, kHeads, kSize);
  out.open_side = [read = std::make_shared<const SideData>(side)](const std::string& /*path*/) {
    return Result<std::shared_ptr<const SideData>>(read);
  };
  return out;
}

Values scenario_with(const std::string& format, const Values& more = {}) {
  Values out{{"model", "small/config.json"},
             {"format", format},
             {"memory.allocator", "paged:block_tokens=4"},
             {"memory.pool_tokens", "400"},
             {"latency", "affine:base_ns=90000,token_ns=100,context_ns=10"},
             {"engine", "vllm-v1:token_budget=64,max_seqs=12,max_model_len=300"}};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

Result<runs::RunResult> run(const Values& values, const traces::Trace& trace, const runs::RunOptions& how) {
  KVPLAN_TRY(const runs::Scenario scenario, resolved(values));
  return runs::run_scenario(scenario, trace, how);
}

std::string figures(const Result<runs::RunResult>& result) {
  return result.ok() ? test::figures(result.value()) : result.error().to_string();
}

/// Compares the bytes of all layers together, after the prompt and after each step.
void expect_stored(const std::string& text, const SideData& side, Random& random) {
  const std::int64_t prompt = random.between(20, 50);
  const auto stored = test::stored_in_run(scenario_with(text, {{"engine.prefix_cache", "false"}}),
                                          static_cast<std::int32_t>(prompt), 20, options(side));
  formats::FormatChoice format = formats::parse_format(text).value();
  format.side = std::make_shared<const SideData>(side);
  // Thresholds that were learnt elsewhere leave beyond them what later keys do; a prompt of none has later keys alone.
  test::LayerCodecs codecs(format, kLayers,
                           formats::test::layer_for(random, format, kShape, prompt + 20, 0, 0), prompt);
  for (std::size_t i = 0; i < stored->live.size(); ++i) {
    ASSERT_EQ(stored->live[i] + stored->metadata[i], codecs.total()) << i;
    ASSERT_EQ(stored->metadata[i], codecs.metadata()) << i;
    codecs.step(prompt + static_cast<std::int64_t>(i));
  }
}

Ranks random_ranks(Random& random, std::size_t most) {
  Ranks out;
  for (std::int64_t l = 0; l < kLayers; ++l) {
    const auto rank = [&] {
      return static_cast<std::size_t>(random.between(1, static_cast<std::int64_t>(most)));
    };
    out.emplace_back(rank(), rank());
  }
  return out;
}

TEST(SideRuns, WhatIsStoredIsWhatCodecsStore) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "side runs");
    expect_stored("palu:file=x,group=2", bases(random_ranks(random, 2 * kSize), 2), random);
    expect_stored("lorc:file=x", bases(random_ranks(random, kHeads * kSize), kHeads), random);
    expect_stored("kvquant:file=x,outliers=0.1", tables(random), random);
    if (HasFatalFailure()) return;
  }
}

/// A file with equal layers works with all that works with bytes per token, and gives the same run.
TEST(SideRuns, AFileThatIsAlikeInAllLayersIsItsParameters) {
  Random random(3, "alike");
  const traces::Trace trace = test::random_trace(random, {.requests = 80, .hash_block = 4});
  const runs::RunOptions how = options(bases(Ranks(kLayers, {5, 3}), 2));
  for (const Values& more :
       std::vector<Values>{{},
                           {{"eviction", "window:window=9,placement=holes"}},
                           {{"eviction", "tova:budget=12,placement=compact"}},
                           {{"memory.allocator", "grouped:block_tokens=4"}},
                           {{"memory.allocator", "vmm"}, {"memory.pool_tokens", "800000"}},
                           {{"memory.allocator", "contiguous"}},
                           {{"deployment.tp", "2"}},
                           {{"deployment.pp", "2"}}}) {
    SCOPED_TRACE(more.empty() ? "" : more.front().second);
    const auto told = run(scenario_with("palu:file=x,group=2", more), trace, how);
    ASSERT_TRUE(told.ok()) << told.error().to_string();
    EXPECT_GT(told.value().completed, 0);
    EXPECT_EQ(figures(told), figures(run(scenario_with("palu:rank=5,rank_v=3,group=2", more), trace, how)));
  }
}

/// The pool is counted in tokens of the widest stage's rank.
TEST(SideRuns, LayersHaveWidthsOfTheirOwn) {
  Random random(4, "widths");
  const traces::Trace trace = test::random_trace(random, {.requests = 80, .hash_block = 4});
  const Ranks ranks{{16, 16}, {8, 4}, {4, 2}, {1, 1}};
  runs::RunOptions how = options(bases(ranks, 2));
  const auto layer_bytes = [&](std::size_t l) {
    return static_cast<std::int64_t>(2 * (ranks[l].first + ranks[l].second) * 2);  // two groups
  };
  const std::int64_t all = layer_bytes(0) + layer_bytes(1) + layer_bytes(2) + layer_bytes(3);
  struct Case {
    Values more;
    std::int64_t token_bytes;
    std::int64_t pool_tokens{400};
  };
  const std::vector<Case> cases{{{}, all},
                                {{{"eviction", "window:window=9,placement=holes"}}, all},
                                {{{"eviction", "streaming-llm:sink=2,recent=9,placement=reuse"}}, all},
                                {{{"memory.allocator", "contiguous"}}, all},
                                {{{"memory.allocator", "caching"}}, all, 800'000},
                                {{{"memory.allocator", "vmm"}}, all, 800'000},
                                {{{"deployment.tp", "2"}}, all / 2},
                                {{{"deployment.pp", "2"}}, layer_bytes(0) + layer_bytes(1)},
                                {{{"deployment.pp", "4"}, {"deployment.tp", "2"}}, layer_bytes(0) / 2}};
  for (Case each : cases) {
    Values& more = each.more;
    SCOPED_TRACE(more.empty() ? "" : more.front().second);
    more.emplace_back("memory.pool_tokens", std::to_string(each.pool_tokens));
    how.step_by_step = false;
    const auto fast = run(scenario_with("palu:file=x,group=2", more), trace, how);
    ASSERT_TRUE(fast.ok()) << fast.error().to_string();
    EXPECT_EQ(fast.value().capacity_bytes, each.pool_tokens * each.token_bytes);
    EXPECT_GT(fast.value().completed, 30);
    how.step_by_step = true;
    EXPECT_EQ(figures(fast), figures(run(scenario_with("palu:file=x,group=2", more), trace, how)));
  }
}

/// Half of the layers, each with one head less: the bytes per token of the smaller model are used in this run, and the
/// other layers store nothing.
TEST(SideRuns, ASmallerModelIsAWidth) {
  Random random(5, "smaller");
  const traces::Trace trace = test::random_trace(random, {.requests = 60, .hash_block = 4});
  const auto result = run(scenario_with("smaller-model:model_layers=2,heads=3"), trace, options({}));
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  EXPECT_EQ(result.value().capacity_bytes, 400 * 2 * 3 * 2 * kSize * 2);
  const auto whole = run(scenario_with("smaller-model:model_layers=4"), trace, options({}));
  EXPECT_EQ(figures(whole), figures(run(scenario_with("full"), trace, options({}))));
}

TEST(SideRuns, WhatDoesNotSuitTheModelIsSaid) {
  const Ranks alike(kLayers, {5, 3});
  const SideData pairs = bases(alike, 2);
  Random random(6, "unsuited");
  const auto error = [](const SideData& side, const std::string& format, const Values& more = {}) {
    const auto result = run(scenario_with(format, more), {}, options(side));
    const std::string text = result.ok() ? std::string() : result.error().to_string();
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return text;
  };
  EXPECT_EQ(error(pairs, "palu:file=x,group=2"), "");
  EXPECT_EQ(
      error(pairs, "palu:file=x,group=4"),
      "x: format: palu:file: layer 0: expected bases of keys for 1 groups of 32 channels, found 2 of 16");
  EXPECT_EQ(error(bases({{5, 3}, {5, 3}}, 2), "palu:file=x,group=2"),
            "x: format: palu:file: layer 2: does not hold this layer");
  EXPECT_EQ(error(bases(Ranks(5, {5, 3}), 2), "palu:file=x,group=2"),
            "x: format: palu:file: expected the 4 layers of small, found layer 4");
  EXPECT_EQ(
      error(pairs, "kvquant:file=x"),
      "x: format: kvquant:file: layer 0: expected key thresholds for 4 KV heads of 8 channels, found 0 of 0");
  SideData eight = tables(random);
  for (auto& [number, layer] : eight.layers) layer.tables.fill(std::vector<double>(8));
  EXPECT_EQ(error(eight, "kvquant:file=x,bits=3"), "");
  EXPECT_EQ(error(eight, "kvquant:file=x,bits=4"),
            "x: format: kvquant:file: layer 0: expected tables of 16 numbers for bits=4, found 8");
  SideData four = eight;
  for (auto& [number, layer] : four.layers) layer.tables.fill(std::vector<double>(4));
  EXPECT_EQ(error(four, "kvquant:file=x"), "") << "the default asks for nothing";
  EXPECT_EQ(error(four, "kvquant:file=x,bits=3"),
            "x: format: kvquant:file: layer 0: expected tables of 8 numbers for bits=3, found 4");
  EXPECT_EQ(error(bases(alike, 4), "lorc:file=x", {{"deployment.tp", "2"}}),
            "x: format: lorc:file: layer 0: expected every tensor-parallel rank to have all 4 KV heads of a "
            "group, which share a basis, found 2 ranks with 2 heads each");
  EXPECT_EQ(
      error(pairs, "palu:file=x,group=2", {{"model", "deepseek-v3"}}),
      "format: format=palu does not work with model=deepseek-v3: a codec needs keys and values by head, and "
      "the model stores a latent vector. Use format=native or another format of elements");
  const SideData apart = bases({{5, 3}, {5, 3}, {5, 3}, {5, 4}}, 2);
  EXPECT_EQ(error(apart, "palu:file=x,group=2", {{"memory.allocator", "grouped"}}),
            "memory.allocator: the allocator \"grouped\" needs layers with equal bytes per token, found palu "
            "with different bytes in each layer");
  const std::string tova = "tova:budget=9,placement=compact";
  EXPECT_EQ(error(apart, "palu:file=x,group=2", {{"eviction", tova}}), "") << "as many tokens in every layer";
  for (const Values& more :
       std::vector<Values>{{{"eviction", tova}, {"budget", "pyramidkv:capacity=12,window=4"}},
                           {{"eviction", tova}, {"memory.allocator", "paged:table=layer"}}}) {
    EXPECT_EQ(error(pairs, "palu:file=x,group=2", more), "");
    EXPECT_EQ(
        error(apart, "palu:file=x,group=2", more),
        "format: format=palu does not work with eviction=tova: layers have different bytes per token in this "
        "format, and the policy, its budget or the block tables treat layers or heads separately. Use an "
        "eviction policy, budget and memory.allocator.table that treat all layers and heads alike");
  }
  runs::RunOptions broken = options(pairs);
  broken.open_side = [](const std::string& path) -> Result<std::shared_ptr<const SideData>> {
    return bad_input("is no side file").at_file(path);
  };
  EXPECT_EQ(run(scenario_with("palu:file=x,group=2"), {}, broken).error().to_string(),
            "format: palu:file: x: is no side file");
}

TEST(SideRuns, TheReportSaysWhatTheFileMeans) {
  const auto said = [](const std::string& format, const SideData& side) {
    std::string out;
    const auto result = run(scenario_with(format), {}, options(side));
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    for (const std::string& each : result.value().assumptions) out += each + "\n";
    return out;
  };
  EXPECT_NE(said("palu:file=x,group=2", bases(Ranks(kLayers, {5, 3}), 2))
                .find("format=palu stores each layer as described in x: a token takes 128 bytes on a rank."),
            std::string::npos);
  SideData four;
  four.file = "x.side";
  for (std::int64_t l = 0; l < kLayers; ++l) {
    four.layers[l].tables = {std::vector<double>(16), std::vector<double>(16)};
    four.layers[l].key_thresholds.assign(kHeads, std::vector<formats::Thresholds>(kSize));
  }
  const std::string text = said("kvquant:file=x", four);
  EXPECT_NE(text.find("then stored as kvquant:bits=4,"), std::string::npos) << text;
  EXPECT_NE(said("kvquant:file=x,bits=4", four).find("then stored as kvquant:bits=4,"), std::string::npos);
  EXPECT_NE(text.find("The thresholds were learnt from other tokens"), std::string::npos) << text;
  EXPECT_NE(
      said("smaller-model:model_layers=2", {}).find("format=smaller-model is modelled by its bytes only"),
      std::string::npos);
}

}  // namespace
}  // namespace kvplan
