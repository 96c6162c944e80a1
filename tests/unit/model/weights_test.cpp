// Weights by part of the model: counts by hand, and bits in all forms of quantization_config.
#include "simulator/model/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/config.h"

namespace kvplan::model {
namespace {

using Part = WeightPart;

const std::string kDims =
    R"("num_hidden_layers":4,"hidden_size":256,"num_attention_heads":8,"intermediate_size":512,"vocab_size":1000)";
const std::string kSparse =
    R"(,"num_experts":8,"num_experts_per_tok":2,"moe_intermediate_size":128,"shared_expert_intermediate_size":64)";

StageWeights weights(const std::string& members) {
  const auto parsed = parse_config("{" + kDims + members + "}", "c.json");
  EXPECT_TRUE(parsed.ok()) << parsed.error().to_string();
  const auto stages = stage_weights(parsed.value(), 1, 1);
  EXPECT_TRUE(stages.ok()) << stages.error().to_string();
  return stages.value().front();
}

std::string quantised(const std::string& config) {
  return R"(,"quantization_config":)" + config;
}

double bits(const StageWeights& w, Part part) {
  return w.of(part).weight_bits();
}

std::string miss(const std::string& config) {
  const auto parsed = parse_config("{" + kDims + quantised(config) + "}", "c.json");
  const auto stages = stage_weights(parsed.value(), 1, 1);
  return stages.ok() ? "no error" : stages.error().to_string();
}

TEST(Weights, PartsAddUp) {
  const StageWeights w = weights(kSparse);
  EXPECT_EQ(w.of(Part::kEmbedding).weights, 256'000);
  EXPECT_EQ(w.of(Part::kOutput).weights, 256'000);
  EXPECT_EQ(w.of(Part::kAttention).weights, 4 * 4 * 256 * 256);
  EXPECT_EQ(w.of(Part::kDense).weights, 0);
  EXPECT_EQ(w.of(Part::kExperts).weights, 4 * 8 * 3 * 256 * 128);
  EXPECT_EQ(w.of(Part::kExperts).multiplied, 4 * 2 * 3 * 256 * 128);
  EXPECT_EQ(w.of(Part::kShared).weights, 4 * 3 * 256 * 64);
  EXPECT_EQ(w.of(Part::kRouter).weights, 4 * 256 * 8);
  EXPECT_EQ(w.of(Part::kNorms).weights, 4 * 2 * 256 + 256);
  EXPECT_EQ(w.bytes(), 2 * w.weights());
  EXPECT_EQ(w.read(), w.weights() - 256'000);
  EXPECT_EQ(precision_text(w), "16 bits each");
  for (const std::int64_t fine : {16 << 16, (4 << 16) + (1 << 14), 1 << 16}) {
    const auto all = stage_weights(parse_config("{" + kDims + kSparse + "}", "c.json").value(), 1, 1, fine);
    EXPECT_EQ(all.value().front().bytes(), (w.weights() * fine + (8 << 16) - 1) / (8 << 16));
  }
  // Tied: one matrix, which is the output layer.
  const StageWeights tied = weights(R"(,"tie_word_embeddings":true)");
  EXPECT_EQ(tied.of(Part::kEmbedding).weights, 0);
  EXPECT_EQ(tied.of(Part::kOutput).weights, 256'000);
}

TEST(Weights, TheRestOfAnFp8CheckpointStaysInSixteenBits) {
  const StageWeights w =
      weights(kSparse + quantised(R"({"quant_method":"fp8","activation_scheme":"dynamic"})"));
  for (const Part part : {Part::kAttention, Part::kExperts, Part::kShared}) {
    EXPECT_EQ(bits(w, part), 8);
    EXPECT_EQ(w.of(part).activation_bits, 8);
  }
  for (const Part part : {Part::kEmbedding, Part::kOutput, Part::kRouter, Part::kNorms}) {
    EXPECT_EQ(bits(w, part), 16);
    EXPECT_EQ(w.of(part).activation_bits, 16);
  }
  EXPECT_EQ(bits(weights(quantised(R"({"quant_method":"fp8","weight_block_size":[128,128]})")), Part::kDense),
            8 + 32.0 / (128 * 128));
}

TEST(Weights, FormsOfQuantisation) {
  struct Case {
    const char* config;
    double bits;
    std::int64_t activations;
  };
  const Case kCases[] = {
      {R"({"quant_method":"gptq","bits":4,"group_size":128})", 4 + 20.0 / 128, 16},
      {R"({"quant_method":"gptq","bits":8,"group_size":-1})", 8, 16},
      {R"({"quant_method":"awq","bits":4,"group_size":64,"version":"gemm"})", 4 + 20.0 / 64, 16},
      {R"({"quant_method":"bitsandbytes","load_in_4bit":true})", 4.5, 16},
      {R"({"quant_method":"bitsandbytes","load_in_4bit":true,"bnb_4bit_use_double_quant":true})", 4.125, 16},
      {R"({"quant_method":"bitsandbytes","load_in_8bit":true})", 8, 8},
      {R"({"quant_method":"modelopt","quant_algo":"FP8"})", 8, 8},
      {R"({"quant_method":"modelopt","quantization":{"quant_algo":"NVFP4","exclude_modules":["lm_head"]}})",
       4.5, 4},
      {R"({"quant_method":"modelopt","quant_algo":"W4A16_AWQ","group_size":128})", 4.125, 16},
      {R"({"quant_method":"compressed-tensors","config_groups":{"group_0":{"targets":["Linear"],
           "weights":{"num_bits":8,"type":"int","strategy":"channel"},
           "input_activations":{"num_bits":8,"type":"int"}}},"ignore":["lm_head"]})",
       8, 8},
      {R"({"quant_method":"compressed-tensors","config_groups":{"group_0":{"targets":["Linear"],
           "weights":{"num_bits":4,"type":"int","strategy":"group","group_size":32,"symmetric":true},
           "input_activations":null}}})",
       4.5, 16},
      {R"({"quant_method":"compressed-tensors","config_groups":{"group_0":{"targets":["Linear"],
           "weights":{"num_bits":4,"type":"float","group_size":16},
           "input_activations":{"num_bits":4,"type":"float","group_size":16}}}})",
       4.5, 4},
      {R"({"quant_method":"quark","exclude":["lm_head"],"global_quant_config":{"weight":{"dtype":"fp4",
           "group_size":32},"input_tensors":{"dtype":"fp4"}}})",
       4.25, 4},
      {R"({"quant_algo":"FP8","config_groups":{"g":{"weights":{"num_bits":8,"type":"float"},
           "input_activations":{"num_bits":8}}}})",
       8, 8},
  };
  for (const Case& each : kCases) {
    const StageWeights w = weights(quantised(each.config));
    EXPECT_EQ(bits(w, Part::kDense), each.bits) << each.config;
    EXPECT_EQ(w.of(Part::kDense).activation_bits, each.activations) << each.config;
    EXPECT_EQ(bits(w, Part::kOutput), 16) << each.config;
  }
  EXPECT_EQ(bits(weights(quantised(R"({"quant_method":"gptq","bits":8,"group_size":0,"lm_head":true})")),
                 Part::kOutput),
            8);
  EXPECT_EQ(miss(R"({"quant_method":"new"})"),
            "model: the weights of c.json cannot be counted: kvplan does not read quantization_config with "
            "quant_method \"new\"");
  EXPECT_EQ(miss(R"({"quant_method":"modelopt","quant_algo":"FP3"})"),
            "model: the weights of c.json cannot be counted: kvplan does not read quantization_config with "
            "quant_algo \"FP3\"");
  for (const char* odd : {R"({"bits":0})", R"({"bits":"4"})", R"({"bits":65})"})
    EXPECT_NE(miss(odd), "no error") << odd;
  for (const char* none : {"7", "null"}) EXPECT_EQ(miss(none), "no error");
}

TEST(Weights, ModulesThatAreLeftOut) {
  const auto attention = [](const std::string& list) {
    return bits(weights(quantised(R"({"quant_method":"fp8",)" + list + "}")), Part::kAttention);
  };
  EXPECT_EQ(attention(R"("modules_to_not_convert":["model.layers.*.self_attn"])"), 16);
  EXPECT_EQ(attention(R"("ignored_layers":["re:.*self_attn.*"])"), 16);
  EXPECT_EQ(attention(R"("ignore":["*.self_attn.*"])"), 16);
  EXPECT_EQ(attention(R"("exclude_modules":["self_attn"])"), 16);
  EXPECT_EQ(attention(R"("ignore":["self_att","attn","re:(","lm_head"])"), 8);
  // One of four layers, and one of four matrices of each.
  EXPECT_EQ(attention(R"("ignore":["language_model.model.layers.1.self_attn*"])"), 10);
  EXPECT_EQ(attention(R"("ignore":["model.layers.3"])"), 10);
  EXPECT_EQ(attention(R"("ignore":["model.layers.3*"])"), 10);
  EXPECT_EQ(attention(R"("ignore":["q_proj"])"), 10);
  const std::string twelve = R"(,"num_experts_per_tok":1,"num_experts":2)";
  const auto parsed = parse_config(
      R"({"num_hidden_layers":12,"hidden_size":64,"num_attention_heads":8,"intermediate_size":64,"vocab_size":10,)"
      R"("quantization_config":{"quant_method":"fp8","ignore":["model.layers.1*"]}})",
      "c.json");
  EXPECT_EQ(bits(stage_weights(parsed.value(), 1, 1).value().front(), Part::kDense), 8 + 8.0 / 12)
      << "layers 10 and 11 are others";
}

/// NVIDIA's repositories say it in a file beside config.json.
TEST(Weights, AFileBesideTheConfig) {
  const auto dense = [](std::string_view beside, const std::string& members = "") {
    const auto parsed = parse_config("{" + kDims + members + "}", "model-FP8/config.json", beside);
    EXPECT_TRUE(parsed.ok()) << parsed.error().to_string();
    return std::pair{bits(stage_weights(parsed.value(), 1, 1).value().front(), Part::kDense),
                     parsed.value().notes.size()};
  };
  EXPECT_EQ(dense(R"({"quantization":{"quant_algo":"FP8","exclude_modules":["lm_head"]}})"),
            (std::pair{8.0, 0UL}));
  EXPECT_EQ(dense(R"({"quantization":{"quant_algo":null,"kv_cache_quant_algo":"FP8"}})"),
            (std::pair{16.0, 0UL}));
  EXPECT_EQ(dense(R"({"quantization":{"quant_algo":"FP8"}})", quantised(R"({"quant_method":"mxfp4"})")),
            (std::pair{16.0, 0UL}))
      << "the config decides";
  EXPECT_EQ(dense(""), (std::pair{16.0, 1UL})) << "a note: the name says fp8, and nothing says how";
  EXPECT_EQ(parse_config("{" + kDims + "}", "c.json", "[").error().to_string(),
            "c.json: expected a JSON object beside it in hf_quant_config.json");
}

/// vllm-project/vllm 0.19 on an H100: "Model loading took 14.99 GiB" for Llama-3.1-8B, 7.51 on two ranks or stages,
/// 4.26 and 3.28 on the first and the second of four stages.
TEST(Weights, TablesOfPositions) {
  const auto loaded = [](std::int64_t ranks, std::int64_t stages, std::size_t stage) {
    const auto parsed = parse_config(
        R"({"model_type":"llama","num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32,)"
        R"("num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256,)"
        R"("max_position_embeddings":131072})",
        "c.json");
    const auto w = stage_weights(parsed.value(), ranks, stages);
    return std::round(static_cast<double>(w.value()[stage].bytes()) / (1 << 30) * 100) / 100;
  };
  EXPECT_EQ(loaded(1, 1, 0), 14.99);
  EXPECT_EQ(loaded(2, 1, 0), 7.51);
  EXPECT_EQ(loaded(4, 1, 0), 3.77);
  EXPECT_EQ(loaded(1, 2, 0), 7.51);
  EXPECT_EQ(loaded(1, 4, 0), 4.26);
  EXPECT_EQ(loaded(1, 4, 1), 3.28);
  const StageWeights w = weights(R"(,"max_position_embeddings":1000)");
  EXPECT_EQ(w.of(Part::kTables).bytes(), 1000 * 32 * 2);
  EXPECT_EQ(w.of(Part::kTables).weights, 0);
  EXPECT_EQ(w.bytes() - 2 * w.weights(), 1000 * 32 * 2);
  EXPECT_EQ(precision_text(w), "16 bits each");
}

/// As openai/gpt-oss-20b is published and loaded: experts in 4.25 bits with rows of 3,072, the rest in 16.
TEST(Weights, ExpertsInMxfp4) {
  const ModelShape& m = *find_model("gpt-oss-20b").value();
  const StageWeights w = stage_weights(m, 1, 1).value().front();
  EXPECT_EQ(w.of(Part::kExperts).weights, 24LL * 32 * 3 * 2880 * 2880);
  EXPECT_EQ(w.of(Part::kExperts).bytes(), 24LL * 32 * 3 * 3072 * 2944 * 17 / 32);
  EXPECT_EQ(bits(w, Part::kAttention), 16);
  // vLLM 0.19 on an H100: "Model loading took 13.64 GiB", and 7.01 with two ranks.
  EXPECT_NEAR(static_cast<double>(w.bytes()) / (1 << 30), 13.64, 0.01 * 13.64);
  const StageWeights half = stage_weights(m, 2, 1).value().front();
  EXPECT_NEAR(static_cast<double>(half.bytes()) / (1 << 30), 7.01, 0.01 * 7.01);
  // Given bits apply to every weight, without padding.
  EXPECT_EQ(stage_weights(m, 1, 1, 8 << 16).value().front().bytes(), w.weights());
}

}  // namespace
}  // namespace kvplan::model
