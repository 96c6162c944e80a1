// Bytes of KV caches compared with known figures: published ones, and arithmetic from a model's dimensions.
#include "simulator/model/footprint.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "simulator/model/kv_format.h"
#include "simulator/modelfile/catalogue.h"

namespace kvplan::model {
namespace {

const ModelShape& known(const std::string& name) {
  return *find_model(name).value();
}

Choice format(const std::string& text) {
  return parse_component(text, "format", format_descriptors()).value();
}

Footprint of(const std::string& model, std::int64_t tokens, std::int64_t ranks = 1, std::int64_t stages = 1,
             const std::string& in = "bf16") {
  return footprint(known(model),
                   {.format = format(in), .tensor_ranks = ranks, .stages = stages, .tokens = tokens})
      .value();
}

std::int64_t token_bytes_of(const std::string& model, const std::string& in = "bf16") {
  return of(model, 1, 1, 1, in).stages.front().bytes_per_token;
}

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;

struct Worked {
  const char* model;
  std::int64_t layers, heads, size, bytes;
};
// Layers x KV heads x size and bytes per token in 2-byte elements; OPT-13B: 800 KB (Kwon et al., SOSP 2023),
// Llama-3-70B: 320 KB (Mooncake, FAST 2025).
constexpr std::array<Worked, 19> kWorked{{{"llama-2-7b", 32, 32, 128, 524288},
                                          {"llama-2-13b", 40, 40, 128, 819200},
                                          {"opt-13b", 40, 40, 128, 819200},
                                          {"llama-3-8b", 32, 8, 128, 131072},
                                          {"llama-3-70b", 80, 8, 128, 327680},
                                          {"mistral-7b", 32, 8, 128, 131072},
                                          {"qwen2.5-7b", 28, 4, 128, 57344},
                                          {"qwen2.5-32b", 64, 8, 128, 262144},
                                          {"qwen3-32b", 64, 8, 128, 262144},
                                          {"qwen2.5-72b", 80, 8, 128, 327680},
                                          {"qwen3-8b", 36, 8, 128, 147456},
                                          {"qwen3-30b-a3b", 48, 4, 128, 98304},
                                          {"qwen3-235b-a22b", 94, 4, 128, 192512},
                                          {"opt-66b", 64, 72, 128, 2359296},
                                          {"opt-175b", 96, 96, 128, 4718592},
                                          {"llama-3.1-405b", 126, 8, 128, 516096},
                                          {"mixtral-8x7b", 32, 8, 128, 131072},
                                          {"gpt-oss-120b", 36, 8, 64, 73728},
                                          {"gpt-oss-20b", 24, 8, 64, 49152}}};

TEST(KvBytes, WorkedExamplesByHead) {
  for (const Worked& w : kWorked) {
    EXPECT_EQ(w.layers * w.heads * w.size * 2 * 2, w.bytes) << w.model;
    const ModelShape& shape = known(w.model);
    EXPECT_EQ(shape.layers, w.layers) << w.model;
    EXPECT_EQ(shape.kv_heads, w.heads) << w.model;
    EXPECT_EQ(shape.kv_token_bytes(), w.bytes) << w.model;
    EXPECT_EQ(token_bytes_of(w.model), w.bytes) << w.model;
    EXPECT_EQ(token_bytes_of(w.model, "fp16"), w.bytes) << w.model;
    EXPECT_EQ(token_bytes_of(w.model, "fp8"), w.bytes / 2) << w.model;
    EXPECT_EQ(token_bytes_of(w.model, "int8"), w.bytes / 2) << w.model;
    EXPECT_EQ(shape.unshared_token_bytes(), std::nullopt) << w.model;
  }
  EXPECT_EQ(16 * token_bytes_of("llama-2-7b"), 8 * kMiB);
  EXPECT_EQ(of("llama-2-7b", 4096).cluster_bytes, 2 * kMiB * 1024) << "2.000 GiB";
  EXPECT_EQ(of("llama-2-7b", 8192).cluster_bytes, 4 * kMiB * 1024) << "4.000 GiB";
  EXPECT_EQ(16 * token_bytes_of("qwen2.5-7b"), 896 * kKiB);
  EXPECT_EQ(2 * 16 * token_bytes_of("opt-13b"), 25 * kMiB);
  EXPECT_EQ(12 * 1024 * kMiB / token_bytes_of("opt-13b"), 15728) << "slots of 12 GiB";
}

TEST(KvBytes, WorkedExamplesOfLatentVectors) {
  EXPECT_EQ(token_bytes_of("deepseek-v2"), 69120);
  EXPECT_EQ(token_bytes_of("deepseek-v3"), 70272);
  EXPECT_EQ(token_bytes_of("deepseek-v3", "fp8_ds_mla"), 656 * 61);
  EXPECT_EQ(656 * 61, 40016);
  EXPECT_EQ(known("deepseek-v3").unshared_token_bytes(), 4997120) << "128 heads, keys of 192, values of 128";
  EXPECT_EQ(4997120 / 70272, 71);
  const auto scales = token_bytes(format("fp8_ds_mla"), known("deepseek-v3").runs.front().cache).value();
  EXPECT_EQ(scales.metadata, 16);
  const auto refused = token_bytes(format("fp8_ds_mla"), known("llama-3-8b").runs.front().cache);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().to_string(),
            "fp8_ds_mla: expected a model with a latent vector of 512 and 64 rotary elements");
}

TEST(KvBytes, RanksStoreWholeHeadsAndWholeLatentVectors) {
  for (const std::int64_t ranks : {1, 2, 4, 8}) {
    const Footprint all = of("llama-3-70b", 1000, ranks);
    EXPECT_EQ(all.stages.front().bytes_per_token, 327680 / ranks);
    EXPECT_EQ(all.cluster_bytes, 327680 * 1000);
    EXPECT_EQ(all.replicated_bytes, 0);
  }
  const Footprint eight = of("llama-3-70b", 1000, 8), sixteen = of("llama-3-70b", 1000, 16);
  EXPECT_EQ(eight.stages.front().bytes_per_token, 40960);
  EXPECT_EQ(sixteen.stages.front().bytes_per_token, 40960);
  EXPECT_EQ(sixteen.cluster_bytes, 2 * 327680 * 1000);
  EXPECT_EQ(sixteen.replicated_bytes, 327680 * 1000);
  EXPECT_TRUE(sixteen.warnings.empty());
  const Footprint latent = of("deepseek-v3", 10, 8);
  EXPECT_EQ(latent.stages.front().bytes_per_token, 70272);
  EXPECT_EQ(latent.cluster_bytes, 8 * 702720);
  EXPECT_EQ(latent.replicated_bytes, 7 * 702720);
  const Footprint odd = of("llama-3-70b", 1000, 3);
  EXPECT_EQ(odd.stages.front().bytes_per_token, 80 * 2 * 256 * 2) << "floor(8 / 3) = 2 heads";
  EXPECT_EQ(odd.warnings.size(), 1U);
  EXPECT_EQ(odd.replicated_bytes, 0);
}

TEST(KvBytes, StagesHaveLayersInARowAndTheLastNoneThatIsLeftOver) {
  const auto layers = [](std::int64_t stages) {
    std::vector<std::int64_t> out;
    for (const StageFootprint& stage : of("deepseek-v3", 100, 1, stages).stages) out.push_back(stage.layers);
    return out;
  };
  EXPECT_EQ(layers(2), (std::vector<std::int64_t>{31, 30}));
  EXPECT_EQ(layers(4), (std::vector<std::int64_t>{15, 15, 16, 15}));
  EXPECT_EQ(layers(8), (std::vector<std::int64_t>{7, 7, 8, 8, 8, 8, 8, 7}));
  const Footprint four = of("deepseek-v3", 100, 2, 4);
  EXPECT_EQ(four.fullest, 2U);
  EXPECT_EQ(four.stages[2].bytes, 16 * 1152 * 100);
  EXPECT_EQ(four.cluster_bytes, 2 * 70272 * 100);
  const auto refused = footprint(known("llama-3-8b"), {.format = format("bf16"), .stages = 33, .tokens = 1});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().to_string(),
            "--pp: expected at most as many stages as layers of the model (32), found 33");
}

TEST(KvBytes, WindowsCapWhatALayerHolds) {
  EXPECT_EQ(of("mistral-7b", 4096).cluster_bytes, 512 * kMiB);
  EXPECT_EQ(of("mistral-7b", 4095).cluster_bytes, 512 * kMiB - 131072);
  EXPECT_EQ(of("mistral-7b", 1'000'000).cluster_bytes, 512 * kMiB);
  const ModelShape& gemma = known("gemma-3-27b");
  EXPECT_EQ(gemma.window_layers(), 52);
  for (const std::int64_t tokens : {1, 1023, 1024, 1025, 100'000}) {
    const Footprint all = of("gemma-3-27b", tokens);
    std::int64_t full = 0, capped = 0, full_token = 0, capped_token = 0;
    for (std::size_t i = 0; i < all.layers.size(); ++i) {
      const LayerFootprint& layer = all.layers[i];
      EXPECT_EQ(layer.cache.window, (i + 1) % 6 == 0 ? 0 : 1024) << i;
      (layer.cache.window == 0 ? full : capped) += layer.bytes;
      (layer.cache.window == 0 ? full_token : capped_token) += layer.bytes_per_token;
    }
    EXPECT_EQ(full_token, 81920);
    EXPECT_EQ(capped_token, 425984);
    EXPECT_EQ(full, 81920 * tokens);
    EXPECT_EQ(capped, 425984 * std::min<std::int64_t>(tokens, 1024));
    if (tokens >= 1024) {
      EXPECT_EQ(capped, 416 * kMiB);
    }
    EXPECT_EQ(all.cluster_bytes, full + capped);
  }
}

TEST(KvBytes, WhatAPolicyKeepsCapsEveryLayer) {
  const auto kept = [](const std::string& model, std::int64_t tokens, std::int64_t most) {
    return footprint(known(model), {.format = format("bf16"), .tokens = tokens, .kept = most})
        .value()
        .cluster_bytes;
  };
  EXPECT_EQ(kept("llama-3-8b", 10'000, 1000), 131072 * 1000);
  EXPECT_EQ(kept("llama-3-8b", 999, 1000), 131072 * 999);
  EXPECT_EQ(kept("gemma-3-27b", 10'000, 2000), 81920 * 2000 + 425984 * 1024);
  EXPECT_EQ(kept("gemma-3-27b", 10'000, 500), 507904 * 500);
}

TEST(KvBytes, GroupsOfScales) {
  // Half a byte and a sixteenth: 0.5625 bytes per element.
  for (const Worked& w : kWorked)
    EXPECT_EQ(token_bytes_of(w.model, "fp4") * 10000, w.bytes / 2 * 5625) << w.model;
  EXPECT_EQ(token_bytes_of("deepseek-v3", "fp4"), 61 * (576 / 2 + 576 / 16));
  EXPECT_EQ(token_bytes_of("llama-3-8b", "fp4:group=32"), 65536 / 2 + 65536 / 32) << "4.25 bits an element";
  EXPECT_EQ(token_bytes_of("llama-3-8b", "int4"), 65536 / 2 + 65536 / 32 * 4) << "5 bits an element";
  EXPECT_EQ(token_bytes_of("llama-3-8b", "int8:group=128,zero_bytes=2"), 65536 + 65536 / 128 * 4);
  const Footprint all = of("llama-3-8b", 100, 2, 1, "fp4");
  EXPECT_EQ(all.stages.front().bytes, 36864 * 100 / 2);
  EXPECT_EQ(all.stages.front().metadata_bytes, 65536 / 16 * 100 / 2);
}

TEST(KvBytes, PartsOfBytesAndOfGroupsAreRoundedUpByLayer) {
  const LayerCache odd{.heads = 3, .key_size = 5, .value_size = 6};  // 33 elements
  const auto bytes = [&](const std::string& text, const LayerCache& cache) {
    const TokenBytes out = token_bytes(format(text), cache).value();
    return std::pair(out.elements, out.metadata);
  };
  EXPECT_EQ(bytes("bf16", odd), std::pair(std::int64_t{66}, std::int64_t{0}));
  EXPECT_EQ(bytes("int4:group=0", odd), std::pair(std::int64_t{17}, std::int64_t{0}));
  EXPECT_EQ(bytes("int4:group=4", odd), std::pair(std::int64_t{17}, std::int64_t{3 * (2 + 2) * 4}));
  EXPECT_EQ(bytes("fp4:group=5", odd), std::pair(std::int64_t{17}, std::int64_t{3 * (1 + 2)}));
  const LayerCache latent{.kind = CacheKind::kLatent, .latent_size = 20, .rope_size = 5};
  EXPECT_EQ(bytes("fp4:group=16", latent), std::pair(std::int64_t{13}, std::int64_t{2}));
}

TEST(KvBytes, TooManyBytesAreAnError) {
  const auto made =
      footprint(known("opt-175b"),
                {.format = format("bf16"), .tensor_ranks = kMostRanks, .tokens = std::int64_t{1} << 40});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().to_string(), "--tokens: expected a sequence of at most 2^62 bytes over all ranks");
}

TEST(Weights, AddUpToWhatModelsAreKnownBy) {
  // Counts from checkpoints: exact if these contain only weights without biases.
  EXPECT_EQ(known("llama-2-7b").weights().value().all, 6738415616);
  EXPECT_EQ(known("llama-2-13b").weights().value().all, 13015864320);
  EXPECT_EQ(known("llama-3-8b").weights().value().all, 8030261248);
  EXPECT_EQ(known("llama-3-70b").weights().value().all, 70553706496);
  EXPECT_EQ(known("mistral-7b").weights().value().all, 7241732096);
  // Billions from papers and model cards: all weights, and those used for one token.
  struct Known {
    const char* model;
    double all, of_token;
    bool with_lookup{true};  ///< the row of the embedding is included in those of one token
  };
  for (const Known& k :
       {Known{"deepseek-v2", 236, 21}, Known{"deepseek-v3", 671, 37}, Known{"qwen3-30b-a3b", 30.5, 3.3},
        Known{"qwen3-235b-a22b", 235, 22}, Known{"opt-13b", 13, 13}, Known{"opt-66b", 66, 66},
        Known{"opt-175b", 175, 175}, Known{"qwen2.5-7b", 7.61, 7.61}, Known{"qwen2.5-32b", 32.5, 32.5},
        Known{"qwen2.5-72b", 72.7, 72.7}, Known{"qwen3-8b", 8.2, 8.2}, Known{"qwen3-32b", 32.8, 32.8},
        Known{"gemma-3-27b", 27, 27}, Known{"llama-3.1-405b", 405, 405}, Known{"mixtral-8x7b", 46.7, 12.9},
        Known{"gpt-oss-120b", 116.83, 5.13, false}, Known{"gpt-oss-20b", 20.91, 3.61, false}}) {
    const WeightCounts counts = known(k.model).weights().value();
    EXPECT_NEAR(static_cast<double>(counts.all) / 1e9, k.all, 0.015 * k.all) << k.model;
    const bool lookup_aside = known(k.model).weight_shape.tied;
    const auto embedding = known(k.model).weight_shape.vocabulary * known(k.model).hidden;
    EXPECT_EQ(counts.all - counts.read, lookup_aside ? 0 : embedding) << k.model;
    EXPECT_NEAR(
        static_cast<double>(counts.multiplied + (lookup_aside || !k.with_lookup ? 0 : embedding)) / 1e9,
        k.of_token, 0.03 * k.of_token)
        << k.model;
  }
}

}  // namespace
}  // namespace kvplan::model
