// Layers that differ: what the layers of each family keep of a sequence, by hand, and configs that are refused.
#include <gtest/gtest.h>

#include <string>

#include "simulator/model/footprint.h"
#include "simulator/model/weights.h"
#include "simulator/modelfile/config.h"

namespace kvplan::model {
namespace {

constexpr std::int64_t kTokens = 1000;
constexpr std::int64_t kFull = 2 * 2 * 16 * 2 * kTokens;  // of a layer: two heads of 16, keys and values

const std::string kDims =
    R"("num_hidden_layers":4,"hidden_size":64,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":16)"
    R"(,"intermediate_size":128,"vocab_size":100)";

Result<ModelShape> parsed(const std::string& type, const std::string& members) {
  return parse_config("{\"model_type\":\"" + type + "\"," + kDims + "," + members + "}", "c.json");
}

std::string error(const std::string& type, const std::string& members) {
  const auto shape = parsed(type, members);
  return shape.ok() ? "no error" : shape.error().to_string();
}

std::int64_t bytes(const std::string& type, const std::string& members, std::int64_t tokens = kTokens,
                   std::int64_t ranks = 1) {
  const auto shape = parsed(type, members);
  EXPECT_TRUE(shape.ok()) << shape.error().to_string();
  if (!shape.ok()) return 0;
  return footprint(shape.value(), {.tensor_ranks = ranks, .tokens = tokens}).value().stages.front().bytes;
}

std::int64_t weights(const std::string& type, const std::string& members, WeightPart part) {
  return stage_weights(parsed(type, members).value(), 1, 1).value().front().of(part).weights;
}

const std::string kDelta =
    R"("linear_num_key_heads":2,"linear_num_value_heads":4,"linear_key_head_dim":8,"linear_value_head_dim":16,)"
    R"("linear_conv_kernel_dim":4)";
const std::string kMamba2 =
    R"("mamba_n_heads":8,"mamba_d_head":16,"mamba_n_groups":2,"mamba_d_state":32,"mamba_d_conv":4)";

TEST(LayerPlan, GatedDeltaNet) {
  const std::string list = kDelta +
                           R"(,"layer_types":["linear_attention","full_attention","linear_attention",)"
                           R"("full_attention"])";
  constexpr std::int64_t kChannels = 2 * 2 * 8 + 4 * 16;
  EXPECT_EQ(bytes("qwen3_next", list), 2 * kFull + 2 * (kChannels * 3 * 2 + 4 * 16 * 8 * 2));
  EXPECT_EQ(bytes("qwen3_next", list + R"(,"mamba_ssm_dtype":"float32")"),
            2 * kFull + 2 * (kChannels * 3 * 2 + 4 * 16 * 8 * 4));
  EXPECT_EQ(bytes("qwen3_next", list, 0), 2 * (kChannels * 3 * 2 + 4 * 16 * 8 * 2)) << "the state alone";
  EXPECT_EQ(bytes("qwen3_next", list, kTokens, 2), bytes("qwen3_next", list) / 2) << "ranks share heads";
  EXPECT_EQ(bytes("qwen3_next", kDelta + R"(,"full_attention_interval":4)"),
            kFull + 3 * (kChannels * 3 * 2 + 4 * 16 * 8 * 2));
  // Queries have a gate of the same size.
  EXPECT_EQ(weights("qwen3_next", list, WeightPart::kAttention), 2 * 64 * (2 * 64 + 2 * 32 + 64));
  EXPECT_EQ(weights("qwen3_next", list, WeightPart::kState),
            2 * (64 * (kChannels + 64 + 8) + 64 * 64 + kChannels * 4));
  EXPECT_EQ(parsed("qwen3_next", list).value().state_layers(), 2);
  EXPECT_EQ(parsed("qwen3_next", list).value().attention_layers(), 2);
  EXPECT_EQ(error("qwen3_next", R"("linear_num_key_heads":2,"full_attention_interval":4)").substr(0, 31),
            "c.json: linear_num_value_heads:");
}

TEST(LayerPlan, Mamba) {
  constexpr std::int64_t kChannels = 8 * 16 + 2 * 2 * 32;
  constexpr std::int64_t kState = kChannels * 3 * 2 + 8 * 16 * 32 * 2;
  EXPECT_EQ(bytes("bamba", kMamba2 + R"(,"attn_layer_indices":[2])"), kFull + 3 * kState);
  EXPECT_EQ(bytes("granitemoehybrid", kMamba2 + R"(,"layer_types":["mamba","attention","mamba","mamba"])"),
            kFull + 3 * kState);
  EXPECT_EQ(bytes("falcon_h1", kMamba2), 4 * (kFull + kState)) << "both in each layer";
  EXPECT_EQ(bytes("nemotron_h", kMamba2 + R"(,"hybrid_override_pattern":"M*-E")"), kFull + kState);
  // Without heads: Jamba, with a period and an offset.
  EXPECT_EQ(bytes("jamba", R"("mamba_d_state":8,"mamba_d_conv":4,"mamba_expand":2,"attn_layer_period":4,)"
                           R"("attn_layer_offset":1)"),
            kFull + 3 * 2 * 64 * (3 + 8) * 2);
  EXPECT_EQ(error("nemotron_h", kMamba2 + R"(,"hybrid_override_pattern":"M*X-")").substr(0, 32),
            "c.json: hybrid_override_pattern:");
  EXPECT_EQ(error("nemotron_h", kMamba2 + R"(,"hybrid_override_pattern":"M*-")"),
            "c.json: hybrid_override_pattern: expected a text with one letter per layer of 4 layers");
}

TEST(LayerPlan, OtherStates) {
  EXPECT_EQ(bytes("minimax_m1", R"("attn_type_list":[0,0,0,1])"), kFull + 3 * 4 * 16 * 16 * 2);
  EXPECT_EQ(bytes("minimax_m2", R"("attn_type_list":[1,1,1,1])"), 4 * kFull) << "ones mean full attention";
  EXPECT_EQ(bytes("lfm2", R"("conv_L_cache":3,"layer_types":["conv","full_attention","conv","conv"])"),
            kFull + 3 * 64 * 2 * 2);
  EXPECT_EQ(
      bytes("kimi_linear", R"("kv_lora_rank":32,"qk_rope_head_dim":8,"linear_attn_config":)"
                           R"({"full_attn_layers":[4],"kda_layers":[1,2,3],"num_heads":2,"head_dim":16,)"
                           R"("short_conv_kernel_size":4})"),
      (32 + 8) * 2 * kTokens + 3 * (3 * 32 * 3 * 2 + 2 * 16 * 16 * 4));
}

TEST(LayerPlan, ChunksAndWindows) {
  const std::string chunks = R"("attention_chunk_size":300)";
  // The chunk of the last token has 100 tokens.
  EXPECT_EQ(bytes("llama4_text", chunks), kFull + 3 * kFull / 10);
  EXPECT_EQ(bytes("llama4_text", chunks + R"(,"no_rope_layers":[1,0,1,0])"), 2 * kFull + 2 * kFull / 10);
  EXPECT_EQ(bytes("llama4_text", chunks, 300), (kFull / 1000) * 300 * 4);
  EXPECT_EQ(bytes("llama4_text", chunks, 301), (kFull / 1000) * (301 + 3));
  EXPECT_EQ(bytes("mimo_v2_flash", R"("sliding_window":100,"hybrid_layer_pattern":[0,1,1,1],"v_head_dim":8,)"
                                   R"("swa_num_key_value_heads":4,"swa_head_dim":16,"swa_v_head_dim":8)"),
            2 * (16 + 8) * 2 * kTokens + 3 * 4 * (16 + 8) * 2 * 100);
  const std::string four = R"("sliding_window":100,"layer_types":["sliding_attention","sliding_attention",)"
                           R"("full_attention","full_attention"])";
  EXPECT_EQ(bytes("gemma4_text", four + R"(,"num_global_key_value_heads":1,"global_head_dim":32)"),
            2 * kFull / 10 + 2 * 2 * 32 * 2 * kTokens);
  EXPECT_EQ(bytes("gemma3n_text", four + R"(,"num_kv_shared_layers":1)"), 2 * kFull / 10 + kFull);
  EXPECT_EQ(error("llama", four + R"(,"global_head_dim":32)").substr(0, 24), "c.json: global_head_dim:");
}

TEST(LayerPlan, BlocksOfDifferentShapes) {
  const std::string blocks =
      R"("block_configs":[{"attention":{"n_heads_in_group":2,"no_op":false},"ffn":{"ffn_mult":1.5}},)"
      R"({"attention":{"n_heads_in_group":null,"no_op":true},"ffn":{"ffn_mult":3.0}},)"
      R"({"attention":{"n_heads_in_group":4},"ffn":{"no_op":true}},)"
      R"({"attention":{"replace_with_linear":true},"ffn":{"ffn_mult":1.5}}])";
  EXPECT_EQ(bytes("nemotron-nas", blocks), kFull + kFull / 2);
  // 2 x ffn_mult x 64 / 3, up to a multiple of 256.
  EXPECT_EQ(weights("nemotron-nas", blocks, WeightPart::kDense), 3 * 3 * 64 * 256);
  EXPECT_TRUE(parsed("nemotron-nas", blocks).value().runs_miss.empty()) << "a pool of tokens of the sum";
  EXPECT_EQ(error("nemotron-nas", R"("block_configs":[{}])").substr(0, 22), "c.json: block_configs:");
}

TEST(LayerPlan, Indexers) {
  const std::string latent =
      R"("kv_lora_rank":512,"qk_rope_head_dim":64,"index_head_dim":128,"index_n_heads":4)";
  EXPECT_EQ(bytes("deepseek_v32", latent), 4 * (576 * 2 + 132) * kTokens);
  EXPECT_EQ(bytes("glm_moe_dsa", latent + R"(,"indexer_types":["full","shared","shared","full"])"),
            (4 * 576 * 2 + 2 * 132) * kTokens);
  const ModelShape shape = parsed("deepseek_v32", latent).value();
  const KvFormat packed(parse_component("fp8_ds_mla", "format", format_descriptors()).value());
  EXPECT_EQ(footprint(shape, {.format = packed, .tokens = kTokens}).value().cluster_bytes,
            4 * (656 + 132) * kTokens);
  EXPECT_EQ(shape.kv_token_bytes(), 4 * (576 * 2 + 132));
}

TEST(LayerPlan, ExpertsInSomeLayers) {
  const std::string experts = R"("num_experts":8,"num_experts_per_tok":2,"moe_intermediate_size":32)";
  constexpr std::int64_t kOne = 8 * 3 * 64 * 32;
  const auto count = [&](const std::string& which) {
    return weights("qwen3_moe", experts + which, WeightPart::kExperts) / kOne;
  };
  EXPECT_EQ(count(""), 4);
  EXPECT_EQ(count(R"(,"moe_layer_freq":[0,1,1,0])"), 2);
  EXPECT_EQ(count(R"(,"moe_layer_freq":2)"), 2);
  EXPECT_EQ(count(R"(,"decoder_sparse_step":2)"), 2);
  EXPECT_EQ(count(R"(,"decoder_sparse_step":4)"), 1);
  EXPECT_EQ(count(R"(,"mlp_only_layers":[0,3])"), 2);
  EXPECT_EQ(count(R"(,"first_k_dense_replace":3)"), 1);
  EXPECT_EQ(count(R"(,"mlp_layer_types":["dense","sparse","sparse","sparse"])"), 3);
  EXPECT_EQ(weights("qwen3_moe", experts + R"(,"moe_layer_freq":[0,1,1,0])", WeightPart::kDense),
            2 * 3 * 64 * 128);
  EXPECT_EQ(error("qwen3_moe", experts + R"(,"moe_layer_freq":[0,1])").substr(0, 23),
            "c.json: moe_layer_freq:");
  EXPECT_EQ(error("qwen3_moe", experts + R"(,"moe_layer_freq":[0,1,2,1])").substr(0, 23),
            "c.json: moe_layer_freq:");
}

}  // namespace
}  // namespace kvplan::model
