// Runs with encoded tokens: fast and step-by-step runs are equal, the stored bytes are those that codecs store, and a
// format that stores tokens at once equals a number of bytes per token.
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
constexpr std::int64_t kSize = 32;  // of a key and of a value

runs::RunOptions options() {
  return test::options_with(kLayers, kHeads, kSize);
}

Values scenario_with(const std::string& format) {
  return {{"model", "small/config.json"},
          {"format", format},
          {"memory.allocator", "paged:block_tokens=4"},
          {"latency", "affine:base_ns=90000,token_ns=100,context_ns=10"},
          {"engine", "vllm-v1:token_budget=64,max_seqs=12,max_model_len=300,prefix_cache=false"}};
}

runs::RunResult run(const Values& values, const traces::Trace& trace, const runs::RunOptions& how) {
  const auto scenario = resolved(values);
  KVPLAN_CHECK(scenario.ok());
  auto result = runs::run_scenario(scenario.value(), trace, how);
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return std::move(result).value();
}

TEST(EncodedRuns, FastAndStepByStepAreOneRun) {
  Random random(7, "encoded runs");
  std::int64_t preemptions = 0, compactions = 0;
  for (const std::string& format : test::encoded_formats()) {
    for (const char* eviction : {"full", "snapkv:window=4,capacity=20,placement=compact",
                                 "pyramidkv:window=4,capacity=20,placement=compact",
                                 "window:window=20,placement=compact", "tova:budget=20,placement=compact"}) {
      SCOPED_TRACE(format + " " + eviction);
      const std::string policy(eviction);
      if (format.starts_with("minicache") && policy != "full") continue;  // refused: WhatCannotBeIsSaid
      const bool goes_on = policy.starts_with("window") || policy.starts_with("tova");
      if (goes_on && !formats::follows_from_count(formats::parse_format(format).value())) continue;
      const traces::Trace trace =
          test::random_trace(random, {.requests = 60, .hash_block = 0, .most_output = 90});
      Values values = scenario_with(format);
      values.emplace_back("eviction", eviction);
      values.emplace_back("memory.pool_tokens", "120");
      runs::RunOptions how = options();
      const runs::RunResult fast = run(values, trace, how);
      EXPECT_EQ(fast.completed + fast.rejected, fast.arrived);
      EXPECT_GT(fast.completed, 30);
      how.step_by_step = true;
      EXPECT_EQ(figures(fast), figures(run(values, trace, how)));
      preemptions += fast.preemptions;
      compactions += fast.compactions;
      if (policy == "full") {
        EXPECT_EQ(fast.compactions + fast.evicted_tokens, 0) << "nothing is dropped";
      }
    }
  }
  EXPECT_GT(preemptions, 100);
  EXPECT_GT(compactions, 100);
}

/// One request alone: the ledger's bytes after its prompt and after each token are those of a codec that encoded random
/// numbers, layer by layer; or those of exact tokens, if these are fewer.
TEST(EncodedRuns, WhatIsStoredIsWhatCodecsStore) {
  constexpr std::int64_t kRow = kHeads * 2 * kSize * 2;  // bytes of an exact token in a layer
  Random random(8, "stored");
  std::int64_t encoded = 0;
  for (const std::string& format : test::encoded_formats()) {
    SCOPED_TRACE(format);
    const std::int64_t prompt = random.between(20, 50);
    Values values = scenario_with(format);
    values.emplace_back("memory.pool_tokens", "400");
    const auto stored = test::stored_in_run(values, static_cast<std::int32_t>(prompt), 40, options());
    const formats::Shape shape{
        .query_heads = kHeads, .kv_heads = kHeads, .key_size = kSize, .value_size = kSize};
    const auto choice = formats::parse_format(format).value();
    test::LayerCodecs codecs(choice, kLayers,
                             formats::test::layer_for(random, choice, shape, prompt + 40, prompt, kHeads),
                             prompt);
    for (std::size_t i = 0; i < stored->live.size(); ++i) {
      const std::int64_t tokens = prompt + static_cast<std::int64_t>(i);
      const bool smaller = codecs.total() <= tokens * kRow * kLayers;
      ASSERT_EQ(stored->live[i] + stored->metadata[i], smaller ? codecs.total() : tokens * kRow * kLayers)
          << i;
      ASSERT_EQ(stored->metadata[i], smaller ? codecs.metadata() : 0) << i;
      encoded += smaller ? 1 : 0;
      codecs.step(tokens);
    }
  }
  EXPECT_GT(encoded, 300);
}

/// A policy that drops tokens while decoding, with a format in which bytes follow from the number of kept tokens. With
/// nvfp4, a head's token takes twice 32 / 2 + 32 / 16 bytes, and a layer has a scale of 4 bytes for its keys and one
/// for its values.
TEST(EncodedRuns, WhatAPolicyLeavesIsCounted) {
  constexpr std::int64_t kToken = kLayers * kHeads * 2 * 18;
  for (const char* eviction :
       {"window:window=30,placement=compact", "streaming-llm:sink=4,recent=26,placement=compact",
        "tova:budget=30,placement=compact"}) {
    SCOPED_TRACE(eviction);
    Values values = scenario_with("nvfp4");
    values.emplace_back("memory.pool_tokens", "400");
    values.emplace_back("eviction", eviction);
    for (const std::int64_t prompt : {20, 45}) {
      const auto stored = test::stored_in_run(values, static_cast<std::int32_t>(prompt), 25, options());
      for (std::size_t i = 0; i < stored->live.size(); ++i) {
        const std::int64_t kept = std::min<std::int64_t>(prompt + static_cast<std::int64_t>(i), 30);
        EXPECT_EQ(stored->live[i] + stored->metadata[i], kept * kToken + kLayers * 2 * 4) << i;
        EXPECT_EQ(stored->metadata[i], kLayers * 2 * (4 + kept * kHeads * 2)) << i;
      }
    }
  }
}

/// If a codec and a member of the family "format" have the same name, the given parameters decide which is meant.
TEST(EncodedRuns, ParametersSayWhichOfTwoFormatsIsMeant) {
  EXPECT_FALSE(runs::run_format(runs::parse_run_format("fp8").value()).encoded);
  EXPECT_TRUE(runs::run_format(runs::parse_run_format("fp8:scale=amax").value()).encoded);
  const auto wrong = runs::parse_run_format("fp8:scale=none");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().to_string().find("fp8:scale: expected one of one amax"), std::string::npos)
      << wrong.error().to_string();
  // A scale of 4 bytes for all keys of a layer and one for its values; one byte per element.
  Values values = scenario_with("fp8:scale=amax");
  values.emplace_back("memory.pool_tokens", "400");
  const auto stored = test::stored_in_run(values, 20, 5, options());
  for (std::size_t i = 0; i < stored->live.size(); ++i) {
    EXPECT_EQ(stored->live[i], (20 + static_cast<std::int64_t>(i)) * kLayers * kHeads * 2 * kSize);
    EXPECT_EQ(stored->metadata[i], kLayers * 2 * 4);
  }
}

/// Every other layer stores nothing: tokens take half of the bytes, and prefixes can be hit.
TEST(EncodedRuns, LayersThatReadAnothersAreAWidth) {
  Random random(10, "cross-layer");
  const traces::Trace trace = test::random_trace(random, {.requests = 80, .hash_block = 4});
  const auto of = [&](const std::string& format, const std::string& pool_bytes, const std::string& eviction) {
    Values values = scenario_with(format);
    values.emplace_back("engine.prefix_cache", "true");
    values.emplace_back("memory.pool_bytes", pool_bytes);
    values.emplace_back("eviction", eviction);
    runs::RunOptions how = options();
    how.request_memory = false;  // it is in bytes, of which there are half as many
    return run(values, trace, how);
  };
  for (const char* eviction : {"full", "streaming-llm:sink=4,recent=60"}) {
    SCOPED_TRACE(eviction);
    const runs::RunResult whole = of("native", "240000", eviction);
    const runs::RunResult half = of("cla", "120000", eviction);
    EXPECT_EQ(runs::requests_csv(half), runs::requests_csv(whole)) << "as many blocks";
    EXPECT_EQ(half.prefix_hit_tokens, whole.prefix_hit_tokens);
    EXPECT_GT(half.prefix_hit_tokens, 0);
    EXPECT_EQ(half.memory->peak_bytes[index(observe::State::kLive)] * 2,
              whole.memory->peak_bytes[index(observe::State::kLive)]);
  }
}

/// Codecs that store tokens at once equal members of the family "format" with another name.
TEST(EncodedRuns, WhatIsStoredAtOnceIsAWidth) {
  Random random(9, "at once");
  const traces::Trace trace = test::random_trace(random, {.requests = 80, .hash_block = 4});
  for (const auto& [codec, width] : std::vector<std::pair<std::string, std::string>>{
           {"full", "bf16"},
           {"int-token:bits=4,group=8", "int4:group=8,scale_bytes=2,zero_bytes=2"},
           {"int-token:bits=8,symmetric=true", "int8:group=32,scale_bytes=2,zero_bytes=0"},
           {"mxfp4", "fp4:group=32,scale_bytes=1,zero_bytes=0"}}) {
    SCOPED_TRACE(codec);
    const auto of = [&](const std::string& format) {
      Values values = scenario_with(format);
      values.emplace_back("engine.prefix_cache", "true");
      values.emplace_back("memory.pool_bytes", "120000");
      return run(values, trace, options());
    };
    const runs::RunResult a = of(codec);
    EXPECT_EQ(figures(a), figures(of(width)));
    EXPECT_GT(a.prefix_hit_tokens, 0);
  }
}

TEST(EncodedRuns, WhatCannotBeIsSaid) {
  const auto error = [](Values more) {
    Values values = scenario_with("kivi:group=8,residual=16");
    values.emplace_back("memory.pool_tokens", "400");
    values.insert(values.end(), more.begin(), more.end());
    const auto scenario = resolved(values);
    if (!scenario.ok()) return scenario.error().to_string();
    const auto result = runs::run_scenario(scenario.value(), {}, options());
    return result.ok() ? std::string() : result.error().to_string();
  };
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({{"deployment.pp", "2"}}), "") << "all layers are alike";
  for (const auto& [more, found] : std::vector<std::pair<Values, std::string>>{
           {{{"memory.allocator", "contiguous"}},
            "format=kivi does not work with memory.allocator=contiguous"},
           {{{"memory.allocator", "paged:table=layer"}}, "Use memory.allocator=paged:table=all"},
           {{{"engine", "sglang"}}, "supports only formats that encode every token when it is written"},
           {{{"eviction", "window:window=9"}}, "which tokens are evicted while decoding"},
           {{{"eviction", "h2o:hh=4,recent=4,placement=compact"}}, "which tokens are evicted while decoding"},
           {{{"format", "nvfp4"}, {"eviction", "window:window=9"}},
            "a policy counted from lengths with placement=compact"},
           {{{"format", "cla"},
             {"memory.allocator", "paged:block_tokens=4,table=layer"},
             {"eviction", "tova:budget=9,placement=compact"}},
            "layers have different bytes per token"},
           {{{"format", "cla:span=3"}, {"deployment.pp", "2"}},
            "format: cla: stores layers 0 and 2 together, which are on different pipeline stages"},
           {{{"format", "kivi:group=24,residual=24"}}, "kivi:group: expected a divisor of the 32 channels"},
           {{{"format", "minicache"}, {"eviction", "snapkv:window=4,capacity=20,placement=compact"}},
            "stores several layers jointly, but an attention-based policy keeps different tokens in them"},
           {{{"format", "minicache:keep=far"}}, "angles decide which tokens are merged"},
           {{{"format", "minicache"}, {"deployment.pp", "2"}}, "Use one stage (deployment.pp=1)"},
           {{{"format", "palu:rank=8,rank_v=8"}, {"eviction", "h2o:hh=4,recent=4,placement=compact"}},
            "eviction=h2o does not work with format=palu: the policy keeps different tokens in different "
            "heads"},
           {{{"format", "kvquant:outliers=0"}, {"eviction", "seed-lfu:budget=9,placement=compact"}},
            "eviction=seed-lfu does not work with format=kvquant: the policy keeps different tokens in "
            "different"},
           {{{"format", "palu:rank=8,rank_v=8,file=x"}}, "palu:file: side files cannot be read here"},
           {{{"format", "smaller-model:model_layers=5"}}, "at most the 4 layers of this model"},
           {{{"format", "sparse:density=0"}}, "stores something for each token, found sparse:density=0"},
           {{{"format", "pyramid-int8"}, {"deployment.pp", "2"}}, "Use one stage (deployment.pp=1)"}}) {
    EXPECT_NE(error(more).find(found), std::string::npos) << found << ": " << error(more);
  }
}

}  // namespace
}  // namespace kvplan
