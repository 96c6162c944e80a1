// Runs in which tokens are dropped and the rest is encoded: layers with a window among others (window_format), policies
// by position, and policies that store data with each token.
#include <gtest/gtest.h>

#include "tests/coupling/stored_run.h"
#include "tests/support/encoded_formats.h"
#include "tests/support/random_trace.h"

namespace kvplan {
namespace {

using test::figures;
using test::resolved;
using test::Values;

constexpr std::int64_t kLayers = 4;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kSize = 32;                      // of a key and of a value
constexpr std::int64_t kElements = kHeads * 2 * kSize;  // of a token in a layer
constexpr std::int64_t kWindow = 12;

/// Every second layer sees a window, if any does.
runs::RunOptions options(std::int64_t window) {
  runs::RunOptions out = test::options_with(kLayers, kHeads, kSize);
  if (window == 0) return out;
  const auto whole = out.open_model;
  out.open_model = [whole, window](const std::string& path) -> Result<model::ModelShape> {
    model::ModelShape shape = whole(path).value();
    const model::LayerCache cache = shape.runs.front().cache;
    model::LayerCache windowed = cache;
    windowed.window = window;
    shape.runs = {{1, windowed}, {1, cache}, {1, windowed}, {1, cache}};
    return shape;
  };
  return out;
}

Values scenario_with(const std::string& format, const std::string& window_format,
                     const std::string& eviction) {
  Values out{{"model", "small/config.json"},
             {"format", format},
             {"memory.allocator", "paged:block_tokens=4"},
             {"memory.pool_tokens", "400"},
             {"latency", "affine:base_ns=90000,token_ns=100,context_ns=10"},
             {"engine", "vllm-v1:token_budget=64,max_seqs=12,max_model_len=300,prefix_cache=false"}};
  if (window_format != "none") out.emplace_back("window_format", window_format);
  if (eviction != "full") out.emplace_back("eviction", eviction);
  return out;
}

std::string error_of(Values values, const Values& more, std::int64_t window) {
  values.insert(values.end(), more.begin(), more.end());
  const auto scenario = resolved(values);
  if (!scenario.ok()) return scenario.error().to_string();
  const auto result = runs::run_scenario(scenario.value(), {}, options(window));
  return result.ok() ? std::string() : result.error().to_string();
}

/// Layers with a window keep 12 tokens with 2 bytes per element. In the others, groups of 8 tokens have a byte per
/// element, and a scale and zero point of 2 bytes per channel; tokens of an incomplete group have 2 bytes per element.
TEST(WindowFormatRuns, WindowsWholeAndTheOthersEncodedByHand) {
  for (const std::string windows : {"native", "bf16", "full"}) {
    for (const std::int64_t prompt : {5, 9, 40}) {
      SCOPED_TRACE(windows + ", prompt " + std::to_string(prompt));
      const auto stored = test::stored_in_run(scenario_with("int-channel:bits=8,group=8", windows, "full"),
                                              static_cast<std::int32_t>(prompt), 30, options(kWindow));
      for (std::size_t i = 0; i < stored->live.size(); ++i) {
        const std::int64_t n = prompt + static_cast<std::int64_t>(i);
        const std::int64_t groups = n / 8;
        const std::int64_t window = 2 * std::min(n, kWindow) * kElements * 2;
        const std::int64_t live = window + 2 * kElements * (groups * 8 + (n - groups * 8) * 2);
        const std::int64_t metadata = 2 * groups * kElements * 4;
        ASSERT_EQ(stored->live[i], live) << n;
        ASSERT_EQ(stored->metadata[i], metadata) << n;
      }
    }
  }
}

/// The combination in the design notes: windows exact, the other layers in layered SVD. A prompt of 40 leaves a chunk
/// of 36 and 4 exact tokens; after that, every ten pending tokens give a chunk of 6.
TEST(WindowFormatRuns, WindowsWholeAndTheOthersLayered) {
  const auto stored = test::stored_in_run(
      scenario_with("layered:window=9,keep_recent=4,rank=2,factor_v=true", "native", "full"), 40, 30,
      options(kWindow));
  std::vector<std::int64_t> chunks{36};
  std::int64_t pending = 4;
  for (std::size_t i = 0; i < stored->live.size(); ++i) {
    if (pending > 9) {
      chunks.push_back(pending - 4);
      pending = 4;
    }
    std::int64_t layer = pending * kElements * 2;
    for (const std::int64_t tokens : chunks) layer += kHeads * 2 * 2 * (tokens + kSize + 1) * 2;
    ASSERT_EQ(stored->live[i], 2 * layer + 2 * kWindow * kElements * 2) << i;
    ASSERT_EQ(stored->metadata[i], 0);
    ++pending;
  }
  EXPECT_GT(chunks.size(), 4U);
}

/// Evicts, then encodes the rest: H2O keeps 30 tokens in the layers without a window, and 4 bytes with each of their
/// heads' tokens; it does not apply to windows. With nvfp4, a head's token takes twice 16 codes and 2 scales, and a
/// layer has a scale of 4 bytes for its keys and one for its values.
TEST(WindowFormatRuns, APolicyDecidesAboutTheOtherLayers) {
  const auto stored = test::stored_in_run(scenario_with("nvfp4", "int8:group=32,scale_bytes=2,zero_bytes=0",
                                                        "h2o:hh=14,recent=16,placement=compact"),
                                          45, 25, options(kWindow));
  for (std::size_t i = 0; i < stored->live.size(); ++i) {
    EXPECT_EQ(stored->live[i], 2 * 30 * kHeads * 2 * 16 + 2 * kWindow * kElements) << i;
    EXPECT_EQ(stored->metadata[i], 2 * (30 * kHeads * (2 * 2 + 4) + 2 * 4) + 2 * kWindow * kHeads * 2 * 2)
        << i;
  }
}

/// The data that a policy stores with tokens is metadata from the prompt chunk on that writes these tokens.
TEST(WindowFormatRuns, WhatAPolicyKeepsIsMetadataAtOnce) {
  const Values values = scenario_with("nvfp4", "none", "h2o:hh=14,recent=16,placement=compact");
  const auto stored = test::stored_in_run(values, 100, 10, options(0), 2);
  EXPECT_EQ(stored->live[0], 64 * kLayers * kElements * 2);
  EXPECT_EQ(stored->metadata[0], 64 * kLayers * kHeads * 4);
  for (std::size_t i = 1; i < stored->live.size(); ++i) {
    EXPECT_EQ(stored->live[i], 30 * kLayers * kHeads * 2 * 16) << i;
    EXPECT_EQ(stored->metadata[i], kLayers * (30 * kHeads * (2 * 2 + 4) + 2 * 4)) << i;
  }
}

/// The ledger with a positional policy equals codecs that are told about every dropped token, layer by layer.
TEST(WindowFormatRuns, WhatPositionsLeaveIsWhatCodecsStore) {
  struct Case {
    std::string eviction;
    std::int64_t sinks, most;
  };
  Random random(8, "positions");
  std::int64_t smaller = 0;
  std::size_t formats = 0;
  for (const std::string& format : test::encoded_formats())
    for (const Case& c : {Case{"window:window=21,placement=compact", 0, 21},
                          Case{"streaming-llm:sink=3,recent=20,placement=compact", 3, 23},
                          Case{"streaming-llm:sink=5,recent=2,placement=compact", 5, 7}}) {
      const auto choice = formats::parse_format(format).value();
      if (!formats::follows_from_positions(choice, c.sinks)) continue;
      ++formats;
      for (const std::int64_t prompt : {6, 30}) {
        SCOPED_TRACE(format + " " + c.eviction + ", prompt " + std::to_string(prompt));
        const auto stored = test::stored_in_run(scenario_with(format, "none", c.eviction),
                                                static_cast<std::int32_t>(prompt), 40, options(0));
        const formats::Shape shape{
            .query_heads = kHeads, .kv_heads = kHeads, .key_size = kSize, .value_size = kSize};
        const std::int64_t kept = std::min(prompt, c.most);
        test::LayerCodecs codecs(
            choice, kLayers, formats::test::layer_for(random, choice, shape, kept + 40, kept, kHeads), kept);
        std::int64_t tokens = kept;
        for (std::size_t i = 0; i < stored->live.size(); ++i) {
          const std::int64_t exact = tokens * kElements * 2 * kLayers;
          ASSERT_EQ(stored->live[i] + stored->metadata[i], std::min(codecs.total(), exact)) << i;
          smaller += codecs.total() < exact ? 1 : 0;
          codecs.step(kept + static_cast<std::int64_t>(i));
          if (++tokens <= c.most) continue;
          codecs.drop_position(c.sinks + kept + static_cast<std::int64_t>(i) + 1 - tokens);
          --tokens;
        }
      }
    }
  EXPECT_GT(formats, 20U);
  EXPECT_GT(smaller, 500);
}

TEST(WindowFormatRuns, FastAndStepByStepAreOneRun) {
  Random random(7, "window formats");
  std::int64_t preemptions = 0, compactions = 0;
  for (const char* format : {"kivi:group=8,residual=16", "layered:window=9,keep_recent=4,rank=2", "native",
                             "mixed:recent=5,middle=9", "int8", "svd:rank=2,update=7"})
    for (const char* windows : {"none", "native", "int4", "kivi:group=8,residual=8"})
      for (const char* eviction : {"full", "streaming-llm:sink=3,recent=17,placement=compact",
                                   "h2o:hh=4,recent=12,placement=compact"}) {
        const std::string name(format);
        const bool by_count = name == "native" || name == "int8";
        if (std::string(eviction).starts_with("h2o") && !by_count) continue;
        if (by_count && std::string(windows) == "none") continue;
        SCOPED_TRACE(name + " " + windows + " " + eviction);
        const traces::Trace trace =
            test::random_trace(random, {.requests = 60, .hash_block = 0, .most_output = 90});
        Values values = scenario_with(format, windows, eviction);
        values.emplace_back("memory.pool_tokens", "130");
        runs::RunOptions how = options(kWindow);
        const auto scenario = resolved(values).value();
        const runs::RunResult fast = runs::run_scenario(scenario, trace, how).value();
        EXPECT_EQ(fast.completed + fast.rejected, fast.arrived);
        EXPECT_GT(fast.completed, 30);
        how.step_by_step = true;
        EXPECT_EQ(figures(fast), figures(runs::run_scenario(scenario, trace, how).value()));
        preemptions += fast.preemptions;
        compactions += fast.compactions;
      }
  EXPECT_GT(preemptions, 100);
  EXPECT_GT(compactions, 100);
}

TEST(WindowFormatRuns, WhatCannotBeIsSaid) {
  const Values values = scenario_with("layered", "native", "full");
  EXPECT_EQ(error_of(values, {}, kWindow), "");
  for (const auto& [more, found] : std::vector<std::pair<Values, std::string>>{
           {{{"window_format", "kvquant"}}, "depends on the numbers"},
           {{{"window_format", "kvquant:outliers=0"}}, ""},
           {{{"window_format", "int9"}}, "window_format"},
           {{{"window_format", "kivi:group=24,residual=24"}},
            "window_format: kivi:group: expected a divisor of the 32 channels"},
           {{{"window_format", "fp8_ds_mla"}},
            "window_format: fp8_ds_mla: expected a model with a latent vector"},
           {{{"window_format", "cla"}},
            "window_format=cla does not work with a format of its own for sliding-window layers"},
           {{{"format", "minicache"}},
            "format=minicache does not work with a format of its own for sliding-window layers"},
           {{{"memory.allocator", "grouped"}}, "does not work with memory.allocator=grouped"},
           {{{"format", "native"}, {"memory.allocator", "grouped"}},
            "window_format=native does not work with memory.allocator=grouped"},
           {{{"format", "native"}, {"eviction", "window:window=9"}},
            "a policy counted from lengths with placement=compact"},
           {{{"deployment.pp", "2"}}, "Use one stage (deployment.pp=1)"},
           {{{"eviction", "h2o:hh=4,recent=4,placement=compact"}},
            "which tokens are evicted while decoding"}}) {
    const std::string error = error_of(values, more, kWindow);
    EXPECT_NE(error.find(found), std::string::npos) << found << ": " << error;
    EXPECT_EQ(error.empty(), found.empty()) << error;
  }
  EXPECT_NE(
      error_of(values, {}, 0).find("no layer of the model has a sliding window. Use window_format=none"),
      std::string::npos);
  // Without a format of their own, windows make no difference.
  EXPECT_EQ(error_of(scenario_with("layered", "none", "full"), {}, kWindow), "");
}

}  // namespace
}  // namespace kvplan
