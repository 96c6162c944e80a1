// Published config.json files: bytes of a sequence of 32,768 tokens compared with arithmetic that is written here for
// each family, with its source; weights compared with the numbers that the models' makers publish.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "simulator/model/footprint.h"
#include "simulator/model/weights.h"
#include "simulator/modelfile/config.h"
#include "tests/unit/traces/support.h"

namespace kvplan::model {
namespace {

constexpr std::int64_t kTokens = 32768;

// vllm-project/vllm v0.15.1, vllm/v1/kv_cache_interface.py, FullAttentionSpec: a key and a value of two bytes an
// element for each KV head.
constexpr std::int64_t full(std::int64_t layers, std::int64_t heads, std::int64_t size) {
  return layers * heads * 2 * size * 2 * kTokens;
}
// SlidingWindowSpec: the last `window` tokens.
constexpr std::int64_t sliding(std::int64_t layers, std::int64_t heads, std::int64_t size,
                               std::int64_t window) {
  return layers * heads * 2 * size * 2 * window;
}
// MLAAttentionSpec: one vector of 512 + 64 elements.
constexpr std::int64_t mla(std::int64_t layers) {
  return layers * (512 + 64) * 2 * kTokens;
}
// vllm/model_executor/models/deepseek_v2.py, DeepseekV32IndexerCache: 128 elements of a byte and a scale of four.
constexpr std::int64_t indexer(std::int64_t layers) {
  return layers * 132 * kTokens;
}
// vllm/model_executor/layers/mamba/mamba_utils.py, gated_delta_net_state_shape: a convolution over the last three
// tokens, two bytes an element, and a matrix for each value head, four bytes (mamba_ssm_dtype).
constexpr std::int64_t delta(std::int64_t layers, std::int64_t value_heads) {
  return layers * ((2 * 16 * 128 + value_heads * 128) * 3 * 2 + value_heads * 128 * 128 * 4);
}
// The same file, mamba2_state_shape, with 8 groups of states of 128 and heads of 64.
constexpr std::int64_t mamba(std::int64_t layers, std::int64_t heads) {
  return layers * ((heads * 64 + 2 * 8 * 128) * 3 * 2 + heads * 64 * 128 * 4);
}
// vllm/models/deepseek_v4 (attention.py, compressor.py): in each of 43 layers a vector of 512 for the last 128 tokens;
// in 21 one for each 4 tokens, with keys of an indexer, and states of two overlapping groups of 4; in 20 one for each
// 128 tokens, and states of these. States have four bytes an element, a key and a score.
constexpr std::int64_t kV4 = 43 * 512 * 2 * 128 +
                             21 * (kTokens / 4 * (512 * 2 + 132) + 8 * 4 * 512 * 4 + 8 * 4 * 128 * 4) +
                             20 * (kTokens / 128 * 512 * 2 + 128 * 2 * 512 * 4);
// Keys and values of 192 and 128 (Xiaomi/MiMo-V2-Flash, modeling_mimo_v2_flash.py).
constexpr std::int64_t kMiMoV2 = 9 * 4 * (192 + 128) * 2 * kTokens + 39 * 8 * (192 + 128) * 2 * 128;
// huggingface/transformers, modeling_gemma4.py: 10 layers of 4 heads of 512, 50 of 16 heads of 256 with a window.
constexpr std::int64_t kGemma4 = full(10, 4, 512) + sliding(50, 16, 256, 1024);
// Every fourth layer sees everything, the others the tokens since the last multiple of 8,192 (modeling_llama4.py).
constexpr std::int64_t kLlama4 = full(12, 8, 128) + sliding(36, 8, 128, 8192);
// NVIDIA/TensorRT-LLM, MiniMaxM3SparseIndexCache: 57 layers have one more key of 128.
constexpr std::int64_t kMiniMaxM3 = full(60, 4, 128) + 57 * 128 * 2 * kTokens;

struct Published {
  std::int64_t bytes;
  double billions;  ///< of weights, as published or counted from the files of the checkpoint; 0: not compared
};

const std::map<std::string, Published>& published() {
  static const std::map<std::string, Published> kAll{
      {"MiniMaxAI--MiniMax-M2.5_config.json", {full(62, 8, 128), 229}},
      {"MiniMaxAI--MiniMax-M3_config.json", {kMiniMaxM3, 0}},
      {"Qwen--Qwen3-0.6B_config.json", {full(28, 8, 128), 0.596}},
      {"Qwen--Qwen3-1.7B_config.json", {full(28, 8, 128), 1.72}},
      {"Qwen--Qwen3-235B-A22B-FP8_config.json", {full(94, 4, 128), 235.1}},
      {"Qwen--Qwen3-235B-A22B_config.json", {full(94, 4, 128), 235.1}},
      {"Qwen--Qwen3-30B-A3B-FP8_config.json", {full(48, 4, 128), 30.53}},
      {"Qwen--Qwen3-30B-A3B_config.json", {full(48, 4, 128), 30.53}},
      {"Qwen--Qwen3-32B-FP8-Static-PerTensor_config.json", {full(64, 8, 128), 32.76}},
      {"Qwen--Qwen3-32B-FP8_config.json", {full(64, 8, 128), 32.76}},
      {"Qwen--Qwen3-32B_config.json", {full(64, 8, 128), 32.76}},
      {"Qwen--Qwen3-8B_config.json", {full(36, 8, 128), 8.19}},
      {"Qwen--Qwen3-Coder-480B-A35B-Instruct_config.json", {full(62, 8, 128), 480.2}},
      {"Qwen--Qwen3-VL-2B-Instruct_config.json", {full(28, 8, 128), 2.13}},
      {"Qwen--Qwen3-VL-30B-A3B-Instruct_config.json", {full(48, 4, 128), 31.07}},
      {"Qwen--Qwen3-VL-32B-Instruct_config.json", {full(64, 8, 128), 33.36}},
      {"Qwen--Qwen3-VL-32B-Thinking_config.json", {full(64, 8, 128), 33.36}},
      {"Qwen--Qwen3-VL-4B-Instruct_config.json", {full(36, 8, 128), 4.44}},
      {"Qwen--Qwen3-VL-8B-Instruct_config.json", {full(36, 8, 128), 8.77}},
      {"Qwen--Qwen3.5-27B_config.json", {full(16, 4, 256) + delta(48, 48), 0}},
      {"Qwen--Qwen3.5-35B-A3B_config.json", {full(10, 2, 256) + delta(30, 32), 0}},
      {"Qwen--Qwen3.5-397B-A17B_config.json", {full(15, 2, 256) + delta(45, 64), 397}},
      {"XiaomiMiMo--MiMo-7B-Base_config.json", {full(36, 8, 128), 0}},
      {"XiaomiMiMo--MiMo-V2-Flash_config.json", {kMiMoV2, 309}},
      {"codellama-7b.json", {full(32, 32, 128), 6.739}},
      {"deepseek-ai--DeepSeek-R1_config.json", {mla(61), 671.0}},
      {"deepseek-ai--DeepSeek-V3_config.json", {mla(61), 671.0}},
      {"deepseek-ai--DeepSeek-V4-Flash_config.json", {kV4, 284}},
      {"deepseek-v2-lite.json", {mla(27), 15.71}},
      {"meta-llama--Llama-4-Scout-17B-16E-Instruct_config.json", {kLlama4, 108.6}},
      {"meta-llama--Meta-Llama-3.1-405B_config.json", {full(126, 8, 128), 405.9}},
      {"meta-llama--Meta-Llama-3.1-70B_config.json", {full(80, 8, 128), 70.55}},
      {"meta-llama--Meta-Llama-3.1-8B_config.json", {full(32, 8, 128), 8.03}},
      {"mistralai--Mixtral-8x22B-v0.1_config.json", {full(56, 8, 128), 140.6}},
      {"mistralai--Mixtral-8x7B-v0.1_config.json", {full(32, 8, 128), 46.7}},
      {"moonshotai--Kimi-K2-Instruct_config.json", {mla(61), 1026}},
      {"moonshotai--Kimi-K2.5_config.json", {mla(61), 1027}},
      {"nvidia--DeepSeek-V3.1-NVFP4_config.json", {mla(61), 671.0}},
      {"nvidia--DeepSeek-V4-Flash-NVFP4_config.json", {kV4, 284}},
      {"nvidia--GLM-5-NVFP4_config.json", {mla(78) + indexer(78), 744}},
      {"nvidia--GLM-5.2-NVFP4_config.json", {mla(78) + indexer(21), 0}},
      {"nvidia--Gemma-4-31B-IT-NVFP4_config.json", {kGemma4, 31.3}},
      {"nvidia--Kimi-K2.5-NVFP4_config.json", {mla(61), 1027}},
      {"nvidia--Kimi-K2.7-Code-NVFP4_config.json", {mla(61), 1027}},
      {"nvidia--Llama-3.1-70B-Instruct-FP8_config.json", {full(80, 8, 128), 70.55}},
      {"nvidia--Llama-3_3-Nemotron-Super-49B-v1_config.json", {full(49, 8, 128), 49.9}},
      {"nvidia--MiniMax-M2.5-NVFP4_config.json", {full(62, 8, 128), 229}},
      {"nvidia--MiniMax-M3-NVFP4_config.json", {kMiniMaxM3, 0}},
      {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16_config.json", {full(6, 2, 128) + mamba(23, 64), 31.6}},
      {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4_config.json", {full(6, 2, 128) + mamba(23, 64), 31.6}},
      {"nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8_config.json", {full(8, 2, 128) + mamba(40, 128), 120}},
      {"nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4_config.json",
       {full(8, 2, 128) + mamba(40, 128), 120}},
      {"nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4_config.json",
       {full(6, 2, 128) + mamba(23, 64), 31.6}},
      {"nvidia--Qwen3-235B-A22B-NVFP4_config.json", {full(94, 4, 128), 235.1}},
      {"nvidia--Qwen3.5-397B-A17B-NVFP4_config.json", {full(15, 2, 256) + delta(45, 64), 397}},
      {"nvidia--Qwen3.6-27B-NVFP4_config.json", {full(16, 4, 256) + delta(48, 48), 0}},
      {"openai--gpt-oss-120b_config.json", {full(18, 8, 64) + sliding(18, 8, 64, 128), 116.8}},
      {"openai--gpt-oss-20b_config.json", {full(12, 8, 64) + sliding(12, 8, 64, 128), 20.91}},
      {"qwen3-14b.json", {full(40, 8, 128), 14.77}},
      {"sgl-project--DeepSeek-V4-Flash-FP8_config.json", {kV4, 284}},
      {"stepfun-ai--Step-3.7-Flash_config.json", {full(12, 8, 128) + sliding(33, 8, 128, 512), 0}},
      {"zai-org--GLM-5-FP8_config.json", {mla(78) + indexer(78), 744}},
      {"zai-org--GLM-5.2-FP8_config.json", {mla(78) + indexer(21), 0}},
      {"zai-org--GLM-5.2_config.json", {mla(78) + indexer(21), 0}},
      {"zai-org--GLM-5_config.json", {mla(78) + indexer(78), 744}},
  };
  return kAll;
}

std::string folder() {
  return traces::testing::shared_traces() + "/../reference/configs";
}

TEST(PublishedConfigs, BytesOfASequence) {
  KVPLAN_NEED_SHARED();
  if (!std::filesystem::is_directory(folder())) GTEST_SKIP() << "no published configs at " << folder();
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".json")) continue;
    ++files;
    const auto expected = published().find(name);
    ASSERT_NE(expected, published().end()) << name << ": no arithmetic is written down";
    const auto shape = parse_config(traces::testing::read_file(entry.path().string()), name);
    if (!shape.ok()) {
      ADD_FAILURE() << shape.error().to_string();
      continue;
    }
    const auto bytes = footprint(shape.value(), {.tokens = kTokens});
    ASSERT_TRUE(bytes.ok()) << bytes.error().to_string();
    EXPECT_EQ(bytes.value().cluster_bytes, expected->second.bytes) << name;
    EXPECT_EQ(bytes.value().replicated_bytes, 0) << name;
  }
  EXPECT_EQ(files, published().size());
}

TEST(PublishedConfigs, NumbersOfWeights) {
  KVPLAN_NEED_SHARED();
  if (!std::filesystem::is_directory(folder())) GTEST_SKIP() << "no published configs at " << folder();
  for (const auto& [name, expected] : published()) {
    const auto shape = parse_config(traces::testing::read_file(folder() + "/" + name), name);
    if (!shape.ok()) continue;  // the test above reports it
    const auto stages = stage_weights(shape.value(), 1, 1);
    if (!stages.ok()) {
      ADD_FAILURE() << name << ": " << stages.error().to_string();
      continue;
    }
    const StageWeights& w = stages.value().front();
    const double billions = static_cast<double>(w.weights()) / 1e9;
    if (expected.billions > 0) {
      EXPECT_NEAR(billions / expected.billions, 1, 0.01) << name;
    }
    RecordProperty(name.substr(0, name.find('.')), std::to_string(billions) + " " + precision_text(w));
  }
}

}  // namespace
}  // namespace kvplan::model
