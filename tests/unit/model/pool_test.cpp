// Pools derived from devices, compared with figures computed by hand and with start-up logs of engines.
#include "simulator/model/pool.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "simulator/base/random.h"
#include "simulator/model/footprint.h"
#include "simulator/model/kv_format.h"
#include "simulator/model/pool_rule.h"
#include "simulator/model/ranks.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/config.h"
#include "simulator/modelfile/device_catalogue.h"
#include "simulator/scheduling/engines.h"

namespace kvplan::model {
namespace {

constexpr double kGiB = 1073741824.0;

const ModelShape& known(const std::string& name) {
  return *find_model(name).value();
}

PoolRuleChoice rule(const std::string& text) {
  return scheduling::pool_rule_of(
      parse_component(text, "pool-rule", scheduling::pool_rule_descriptors()).value());
}

std::int64_t gib(double amount) {
  return std::llround(amount * kGiB);
}

/// A device with this memory; its other figures do not matter.
DeviceShape device_of(std::int64_t bytes) {
  DeviceShape device;
  device.name = "test";
  device.figures[static_cast<std::size_t>(DeviceFigure::kUsableBytes)] = {bytes, Mark::kMeasured, "test"};
  return device;
}

Deployment on(const DeviceShape& device, const std::string& pool_rule, std::int64_t tp = 1,
              std::int64_t pp = 1) {
  return {.device = &device, .tensor_ranks = tp, .stages = pp, .pool_rule = rule(pool_rule)};
}

std::int64_t sum_of(const Pool& pool) {
  std::int64_t sum = 0;
  for (const PoolItem& item : pool.items)
    if (item.part == PoolPart::kTaken || item.part == PoolPart::kPool) sum += item.bytes;
  return sum;
}

TEST(PoolRule, HandComputed) {
  // 10 GB: context 1, weights 2, activations 1, workspace 0.5, graphs 0.25.
  const RankMemory m{.device = 10'000'000'000,
                     .context = 1'000'000'000,
                     .weights = 2'000'000'000,
                     .activations = 1'000'000'000,
                     .workspace = 500'000'000,
                     .graphs = 250'000'000};
  // ceil(10e9 x 0.9) - (2e9 + 1e9 + 0.5e9)
  EXPECT_EQ(rule("vllm-v1").split(m).pool, 5'500'000'000);
  EXPECT_EQ(rule("vllm-v1").split(m).aside, 1'000'000'000);
  EXPECT_EQ(rule("vllm-v1:memory_utilization=0.5").split(m).pool, 1'500'000'000);
  // free before 9e9, after 7e9; 7e9 - 9e9 x 0.2
  EXPECT_EQ(rule("sglang:mem_fraction_static=0.8").split(m).pool, 5'200'000'000);
  EXPECT_EQ(rule("sglang:mem_fraction_static=0.8").split(m).aside, 1'800'000'000);
  // (10e9 - 1e9 - 2e9 - 1e9 - 0.5e9) x 0.9
  EXPECT_EQ(rule("trt-llm").split(m).pool, 4'950'000'000);
  EXPECT_EQ(rule("trt-llm").split(m).aside, 550'000'000);
  // Requested memory is rounded up: 1001 x 0.5 = 500.5.
  EXPECT_EQ(rule("vllm-v1:memory_utilization=0.5").split({.device = 1001}).pool, 501);
}

TEST(PoolRule, EveryByteOfTheDeviceIsOnOneLine) {
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    const DeviceShape device = device_of(random.between(gib(40), gib(200)));
    const auto& models_known = models();
    const ModelShape& shape =
        models_known[static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(models_known.size())))];
    const std::array<const char*, 3> rules{"vllm-v1", "sglang", "trt-llm"};
    Deployment d = on(device, rules.at(static_cast<std::size_t>(i % 3)),
                      std::int64_t{1} << random.between(0, 4), random.between(1, 4));
    if (random.chance(1, 2)) d.activation_bytes = random.between(0, gib(4));
    if (random.chance(1, 2)) d.context_bytes = random.between(0, gib(1));
    const auto pool = derive_pool(shape, d);
    if (!pool.ok()) continue;
    EXPECT_EQ(sum_of(pool.value()), pool.value().items.front().bytes);
    EXPECT_EQ(pool.value().items.back().bytes, pool.value().rank().pool_bytes);
    // the stage with the fewest tokens decides, for any block size
    for (const StagePool& stage : pool.value().stages)
      for (const std::int64_t block : {1, 16, 100})
        EXPECT_LE(pool.value().blocks(block), stage.pool_bytes / (block * stage.bytes_per_token));
  }
}

/// A line of a vLLM log: GiB with two decimals, so that the pool is known within this rounding.
struct LoggedPool {
  const char* source;
  std::string model;
  std::int64_t tp;
  double total, utilization, weights, workspace, activations, pool;
  std::int64_t blocks;  ///< 0: not printed
};

const std::string kQwen15 =
    R"({"model_type":"qwen2","num_hidden_layers":28,"hidden_size":1536,"num_attention_heads":12,)"
    R"("num_key_value_heads":2,"intermediate_size":8960,"vocab_size":151936,"tie_word_embeddings":true})";
const std::string kOpt27 =
    R"({"model_type":"opt","num_hidden_layers":32,"hidden_size":2560,"num_attention_heads":32,)"
    R"("ffn_dim":10240,"vocab_size":50272,"tie_word_embeddings":true})";

ModelShape shape_of(const std::string& model) {
  return model.front() == '{' ? parse_config(model, "log").value() : known(model);
}

const std::vector<LoggedPool>& logs() {
  static const std::vector<LoggedPool> kLogs{
      {"Llama-3.1-8B on a device of 24 GB", "llama-3-8b", 1, 22.07, 0.9, 14.99, 0.05, 0.22, 4.60, 2356},
      {"Qwen2.5-1.5B on a T4", kQwen15, 1, 14.56, 0.5, 2.89, 0.01, 2.02, 2.36, 5519},
      {"Llama-3.1-8B on an A100 (Example 4-3 of a public text)", "llama-3-8b", 1, 79.14, 0.9, 14.99, 0.12,
       1.19, 54.93, 0},
      {"Qwen3-8B on four devices of 22 GB, 6.44 requests of 65,536", "qwen3-8b", 4, 21.48, 0.93, 3.85, 0.20,
       1.45, 14.49, 26378},
      {"Llama-3-8B on an H100, vllm-project/vllm pull request 10511", "llama-3-8b", 1, 79.22, 0.9, 14.96,
       1.79, 1.26, 53.29, 0},
      {"OPT-2.7B on four devices, vLLM V1, 226,000 tokens", kOpt27, 4, 23.5, 0.8, 1.24, 0.09, 0.22, 17.24,
       14125}};
  return kLogs;
}

TEST(PoolOfLogs, TheRuleGivesTheirPools) {
  for (const LoggedPool& log : logs()) {
    const DeviceShape device = device_of(gib(log.total));
    Deployment d = on(device, "vllm-v1", log.tp);
    d.pool_rule = rule("vllm-v1:memory_utilization=" + std::to_string(log.utilization));
    d.weights_bytes = gib(log.weights);
    d.workspace_bytes = gib(log.workspace);
    d.activation_bytes = gib(log.activations);
    const Pool pool = derive_pool(shape_of(log.model), d).value();
    // Five printed figures, each exact within 0.005 GiB.
    EXPECT_NEAR(static_cast<double>(pool.rank().pool_bytes) / kGiB, log.pool, 0.025) << log.source;
    if (log.blocks == 0) continue;
    // As many blocks as fit into the printed pool, up to its last digit.
    const std::int64_t block = 16 * pool.rank().bytes_per_token;
    EXPECT_GE(log.blocks, gib(log.pool - 0.005) / block) << log.source;
    EXPECT_LE(log.blocks, gib(log.pool + 0.005) / block) << log.source;
  }
}

TEST(PoolOfLogs, WeightsAreCounted) {
  const auto weights = [](const std::string& model, std::int64_t tp) {
    return 2.0 * static_cast<double>(weights_of_stages(shape_of(model), tp, 1).value().front().all) / kGiB;
  };
  EXPECT_NEAR(weights("llama-3-8b", 1), 14.96, 0.005);
  EXPECT_NEAR(weights("llama-3-8b", 2), 7.48, 0.005);
  // The cache of rotary positions of Llama-3.1: 131,072 x 128 elements.
  EXPECT_NEAR(weights("llama-3-8b", 1) + 131072 * 128 * 2 / kGiB, 14.9888, 0.00005);
  EXPECT_NEAR(weights(kQwen15, 1), 2.8875, 0.02);
  EXPECT_NEAR(weights("qwen3-8b", 4), 3.85, 0.05);
  EXPECT_NEAR(weights(kOpt27, 4), 1.24, 0.02);
  // PagedAttention, Table 1, in GB of all devices.
  EXPECT_NEAR(weights("opt-13b", 1) * kGiB / 1e9, 26, 0.5);
  EXPECT_NEAR(weights("opt-66b", 1) * kGiB / 1e9, 132, 1.5);
  EXPECT_NEAR(weights("opt-175b", 1) * kGiB / 1e9, 346, 5);
}

/// Activation peaks of versions before 0.17, with the rule's terms.
TEST(PoolOfLogs, ActivationsAreNear) {
  const auto fitted = [](const std::string& model, std::int64_t tp, std::int64_t tokens) {
    const ModelShape shape = shape_of(model);
    const RankFacts facts{.model = &shape,
                          .device = find_device("h100-sxm").value(),
                          .tensor_ranks = tp,
                          .step_tokens = tokens,
                          .step_requests = 256};
    return static_cast<double>(rule("vllm-v1:version=0.11.0").terms(facts).activations.figure.value) / kGiB;
  };
  EXPECT_NEAR(fitted("llama-3-8b", 1, 8192) / 1.26, 1, 0.03);
  EXPECT_NEAR(fitted("llama-3-8b", 1, 2048) / 1.19, 1, 0.01);
  EXPECT_NEAR(fitted("qwen3-8b", 4, 8192) / 1.45, 1, 0.01);
  EXPECT_NEAR(fitted(kQwen15, 1, 32768) / 2.02, 1, 0.02) << "a layer decides";
  EXPECT_NEAR(fitted(kOpt27, 4, 8192) / 0.22, 2.2, 0.3) << "another version: twice as much";
}

TEST(PoolOfLogs, WholeDerivationsWithAssumedParts) {
  // vllm-project/vllm pull request 2031: 7351 blocks for Llama-2-7B on an A100 of 80 GB.
  const Pool llama = derive_pool(known("llama-2-7b"), on(*find_device("A100").value(), "vllm-v1")).value();
  EXPECT_NEAR(static_cast<double>(llama.blocks(16)), 7351, 0.01 * 7351);
}

TEST(PoolOfLogs, BytesOfTokensOnRanks) {
  const auto bytes = [](const std::string& model, std::int64_t tp) {
    return static_cast<double>(
        footprint(known(model), {.tensor_ranks = tp}).value().stages.front().bytes_per_token);
  };
  // SGLang, "#tokens: 367404, K size: 8.23 GB, V size: 8.23 GB" (vllm-project/vllm issue 21348).
  EXPECT_NEAR(bytes("qwen3-235b-a22b", 4) * 367404 / kGiB, 2 * 8.23, 0.01);
  // "#tokens: 1669816, K size: 76.44 GB, V size: 76.44 GB" (sgl-project/sglang pull request 18263).
  EXPECT_NEAR(bytes("qwen3-30b-a3b", 1) * 1669816 / kGiB, 2 * 76.44, 0.01);
}

TEST(PagedAttention, TableOneSlots) {
  struct Row {
    const char* model;
    double pool_gib;
    std::int64_t slots;
    double printed;  ///< thousands
  };
  // The paper's GB are GiB: 12 GiB are exactly its 15.7K slots. 21 GB are rounded: 9.7K lie between 20.5 and 21.5.
  for (const Row& row : {Row{"opt-13b", 12, 15728, 15.7}, Row{"opt-175b", 264, 60074, 60.1}}) {
    const std::int64_t slots = gib(row.pool_gib) / known(row.model).kv_token_bytes();
    EXPECT_EQ(slots, row.slots) << row.model;
    EXPECT_NEAR(static_cast<double>(slots) / 1000, row.printed, 0.05) << row.model;
  }
  EXPECT_LT(gib(20.5) / known("opt-66b").kv_token_bytes(), 9700);
  EXPECT_GT(gib(21.5) / known("opt-66b").kv_token_bytes(), 9700);
}

TEST(Pool, RanksShareHeadsAndWeights) {
  const DeviceShape device = device_of(gib(80));
  Deployment d = on(device, "vllm-v1", 8);
  d.weights_bytes = 0;
  const Pool eight = derive_pool(known("llama-3-70b"), d).value();
  EXPECT_EQ(eight.rank().bytes_per_token, 40960);
  d.tensor_ranks = 16;
  const Pool sixteen = derive_pool(known("llama-3-70b"), d).value();
  EXPECT_EQ(sixteen.rank().bytes_per_token, 40960) << "replicated";
  d.tensor_ranks = 8;
  const Pool latent = derive_pool(known("deepseek-v3"), d).value();
  EXPECT_EQ(latent.rank().bytes_per_token, 70272) << "whole on each rank";
}

TEST(Pool, TheStageWithFewestTokensDecides) {
  // Llama-3-8B in three stages: layers 11, 11, 10; embeddings in the first, the output layer in the last.
  const DeviceShape device = device_of(gib(24));
  Deployment d = on(device, "vllm-v1", 1, 3);
  d.activation_bytes = d.workspace_bytes = 0;
  const Pool pool = derive_pool(known("llama-3-8b"), d).value();
  ASSERT_EQ(pool.stages.size(), 3U);
  const std::int64_t layer = 2 * (4096LL * 4096 * 2 + 4096LL * 1024 * 2 + 3LL * 4096 * 14336 + 2 * 4096);
  const std::int64_t embedding = 2 * 128256LL * 4096;
  const std::int64_t requested = gib(24) * 9 / 10 + 1;
  const std::array<std::int64_t, 3> layers{11, 11, 10};
  const std::array<std::int64_t, 3> beside{embedding, 0, embedding + 2 * 4096};
  std::int64_t fewest = INT64_MAX;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pool.stages[i].layers, layers[i]);
    EXPECT_EQ(pool.stages[i].weights_bytes, layers[i] * layer + beside[i]);
    EXPECT_EQ(pool.stages[i].pool_bytes, requested - layers[i] * layer - beside[i]);
    fewest = std::min(fewest, pool.stages[i].pool_bytes / (16 * 4096 * layers[i]));
  }
  EXPECT_EQ(pool.deciding, 0U);
  EXPECT_EQ(pool.blocks(16), fewest);
}

TEST(Pool, ErrorsSayWhatWouldFit) {
  const auto error = [](const std::string& model, Deployment d) {
    const auto pool = derive_pool(known(model), d);
    return pool.ok() ? std::string("fits") : pool.error().to_string();
  };
  const DeviceShape& h100 = *find_device("h100-sxm").value();
  EXPECT_EQ(error("llama-3-70b", on(h100, "vllm-v1")),
            "deployment: expected room for KV cache on h100-sxm: weights take 131.42 GiB per rank; with "
            "buffers and one token 133.51 GiB are needed, 71.19 GiB are available, and 62.32 GiB are "
            "missing; deployment.tp=2 would fit, and so would deployment.weight_bits=8");
  Deployment given = on(h100, "vllm-v1");
  given.weight_bits = Fraction{16, 1};
  EXPECT_NE(error("llama-3-70b", given).find("; deployment.tp=2 would fit"), std::string::npos);
  EXPECT_EQ(error("llama-3-70b", given).find("weight_bits"), std::string::npos) << "the number was given";
  // A model's weights count in the bits of its checkpoint, unless other bits are given.
  const DeviceShape& h200 = *find_device("h200-sxm").value();
  const std::string fp8 = error("deepseek-v3", on(h200, "vllm-v1", 4));
  EXPECT_NE(fp8.find("; deployment.tp=8 would fit, and so would deployment.weight_bits=4"), std::string::npos)
      << fp8;
  const auto source = [&](std::optional<Fraction> bits) {
    Deployment wide = on(h200, "vllm-v1", 16);
    wide.weight_bits = bits;
    return derive_pool(known("deepseek-v3"), wide).value().items[1].source;
  };
  EXPECT_EQ(source({}),
            "parameters per rank as the checkpoint stores them: attention 8.002 bits, dense feed-forward "
            "8.002 bits, "
            "experts 8.002 bits, shared experts 8.002 bits, the rest 16, and tables");
  EXPECT_EQ(source(Fraction{16, 1}), "parameters per rank x 16 bits, and tables");
  EXPECT_EQ(source(Fraction{17, 4}), "parameters per rank x 4.25 bits, and tables");
  EXPECT_EQ(error("llama-3-70b", on(h100, "vllm-v1", 2)), "fits");
  EXPECT_EQ(error("llama-3-8b", on(h100, "vllm-v1", 1, 33)),
            "deployment.pp: expected at most as many stages as layers of the model (32), found 33");
  Deployment heavy = on(h100, "vllm-v1");
  heavy.weights_bytes = gib(100);
  EXPECT_NE(error("llama-3-8b", heavy).find("weights take 100.00 GiB"), std::string::npos);
  EXPECT_EQ(error("llama-3-8b", heavy).find("would fit"), std::string::npos)
      << "what it is with other ranks is not known";
  const DeviceShape tiny = device_of(gib(0.5));
  EXPECT_NE(error("deepseek-v3", on(tiny, "sglang")).find("no number of ranks would fit"), std::string::npos);
}

TEST(Pool, WarningsOfWhatTheRuleLeaves) {
  Deployment d = on(*find_device("h100-sxm").value(), "vllm-v1:memory_utilization=0.999");
  EXPECT_EQ(derive_pool(known("llama-3-8b"), d).value().warnings.size(), 1U);
  d.pool_rule = rule("vllm-v1");
  EXPECT_TRUE(derive_pool(known("llama-3-8b"), d).value().warnings.empty());
  d.max_model_len = 1 << 20;
  EXPECT_EQ(derive_pool(known("llama-3-8b"), d).value().warnings.size(), 1U);
}

}  // namespace
}  // namespace kvplan::model
