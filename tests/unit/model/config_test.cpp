// Shapes from config.json files: what is read, what is refused, and the error texts.
#include "simulator/modelfile/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "simulator/modelfile/catalogue.h"

namespace kvplan::model {
namespace {

const std::string kDims = R"("num_hidden_layers":6,"hidden_size":64,"num_attention_heads":8)";

ModelShape shape(const std::string& members) {
  auto parsed = parse_config("{" + members + "}", "c.json");
  EXPECT_TRUE(parsed.ok()) << parsed.error().to_string();
  return std::move(parsed).value();
}

std::string error(const std::string& text) {
  const auto parsed = parse_config(text, "c.json");
  return parsed.ok() ? "no error" : parsed.error().to_string();
}

/// The windows of all layers, in order.
std::vector<std::int64_t> windows(const std::string& members) {
  std::vector<std::int64_t> out;
  for (const LayerRun& run : shape(members).runs)
    out.insert(out.end(), static_cast<std::size_t>(run.layers), run.cache.window);
  return out;
}

using Windows = std::vector<std::int64_t>;

TEST(ModelConfig, HeadsAndTheirSizes) {
  const ModelShape plain = shape(kDims);
  EXPECT_EQ(plain.name, "c.json");
  EXPECT_EQ(plain.layers, 6);
  ASSERT_EQ(plain.runs.size(), 1U);
  EXPECT_EQ(plain.runs[0].cache, (LayerCache{.heads = 8, .key_size = 8, .value_size = 8}))
      << "as many as heads";
  EXPECT_EQ(shape(kDims + R"(,"num_key_value_heads":2)").runs[0].cache.heads, 2);
  EXPECT_EQ(shape(kDims + R"(,"num_key_value_heads":null)").runs[0].cache.heads, 8);
  EXPECT_EQ(shape(kDims + R"(,"multi_query":true)").runs[0].cache.heads, 1);
  EXPECT_EQ(shape(kDims + R"(,"multi_query":true,"new_decoder_architecture":true,"num_kv_heads":4)").kv_heads,
            4);
  EXPECT_EQ(shape(kDims + R"(,"head_dim":128)").runs[0].cache.key_size, 128);
  const ModelShape narrow = shape(kDims + R"(,"num_key_value_heads":2,"head_dim":192,"v_head_dim":128)");
  EXPECT_EQ(narrow.runs[0].cache, (LayerCache{.heads = 2, .key_size = 192, .value_size = 128}));
  EXPECT_EQ(narrow.kv_token_bytes(), 6 * 2 * (192 + 128) * 2);
  EXPECT_EQ(narrow.pair_flops(), 2 * 8 * (192 + 128) * 6);
  // DeepSeek-OCR's: nothing is latent, and sizes of what would be are 0.
  EXPECT_EQ(shape(kDims + R"(,"kv_lora_rank":null,"qk_rope_head_dim":0,"v_head_dim":0)").runs[0].cache,
            plain.runs[0].cache);
  const ModelShape old = shape(R"("n_layer":12,"n_embd":768,"n_head":12)");
  EXPECT_EQ(old.kv_token_bytes(), 12 * 2 * 768 * 2);
}

TEST(ModelConfig, ALanguageModelInsideALargerOne) {
  const ModelShape inner = shape(R"("model_type":"vlm","hidden_size":7,"text_config":{)" + kDims + "}");
  EXPECT_EQ(inner.hidden, 64);
  EXPECT_EQ(error(R"({"text_config":{"num_hidden_layers":6}})"),
            "c.json: text_config.hidden_size: expected a whole number from 1 to 1048576, found nothing");
}

TEST(ModelConfig, LatentVectors) {
  const ModelShape latent = shape(kDims + R"(,"kv_lora_rank":32,"qk_rope_head_dim":4)");
  EXPECT_EQ(latent.kv_heads, 1);
  EXPECT_EQ(latent.kv_token_bytes(), 6 * 36 * 2);
  EXPECT_EQ(latent.unshared_token_bytes(), std::nullopt);
  ASSERT_FALSE(latent.weights().ok());
  EXPECT_EQ(error("{" + kDims + R"(,"kv_lora_rank":32})"),
            "c.json: qk_rope_head_dim: expected a whole number from 1 to 8192, found nothing");
}

TEST(ModelConfig, Windows) {
  const std::string window = kDims + R"(,"sliding_window":100)";
  EXPECT_EQ(windows(kDims), (Windows{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(windows(kDims + R"(,"sliding_window":null)"), (Windows{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(windows(window), (Windows{100, 100, 100, 100, 100, 100}));
  EXPECT_EQ(windows(window + R"(,"use_sliding_window":false)"), (Windows{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(windows(window + R"(,"use_sliding_window":true,"max_window_layers":4)"),
            (Windows{0, 0, 0, 0, 100, 100}));
  EXPECT_EQ(windows(window + R"(,"use_sliding_window":true)"), (Windows{100, 100, 100, 100, 100, 100}));
  EXPECT_EQ(windows(window + R"(,"sliding_window_pattern":3)"), (Windows{100, 100, 0, 100, 100, 0}));
  EXPECT_EQ(windows(window + R"(,"model_type":"gemma2")"), (Windows{100, 0, 100, 0, 100, 0}));
  EXPECT_EQ(windows(window + R"(,"model_type":"gpt_oss")"), (Windows{100, 0, 100, 0, 100, 0}));
  EXPECT_EQ(windows(window + R"(,"model_type":"gemma3_text")"), (Windows{100, 100, 100, 100, 100, 0}));
  EXPECT_EQ(windows(window + R"(,"model_type":"cohere2")"), (Windows{100, 100, 100, 0, 100, 100}));
  const std::string types =
      R"(,"layer_types":["full_attention","sliding_attention","full_attention","full_attention",)";
  EXPECT_EQ(windows(window + types + R"("sliding_attention","sliding_attention"])"),
            (Windows{0, 100, 0, 0, 100, 100}));
  EXPECT_EQ(error("{" + window + types + R"("full_attention"]})"),
            "c.json: layer_types: expected a list with one text per layer of 6 layers");
  EXPECT_EQ(error("{" + window + types + R"("linear_attention","full_attention"]})"),
            "c.json: layer_types: expected the sizes of the state that these layers have in place of a KV "
            "cache, found none");
  EXPECT_EQ(
      error("{" + window + types + R"("strange_attention","full_attention"]})"),
      "c.json: layer_types: expected a kind of layer that kvplan knows (full_attention, sliding_attention, "
      "chunked_attention, linear_attention, mamba, moe, ...), found the text \"strange_attention\"");
  EXPECT_EQ(error("{" + kDims + types + R"("full_attention","full_attention"]})"),
            "c.json: sliding_window: expected a window size for the sliding-window layers, found nothing");
}

TEST(ModelConfig, WhatIsMissingOrAbsurd) {
  EXPECT_EQ(error(""), "c.json: expected a JSON object, found nothing");
  EXPECT_EQ(error("[1]"), "c.json: expected a JSON object with a model config");
  EXPECT_NE(error("{\"a\": nul}").find("c.json: expected a model config in JSON: "), std::string::npos);
  EXPECT_EQ(error("{}"), "c.json: num_hidden_layers: expected a whole number from 1 to 4096, found nothing");
  const auto layers = [](const std::string& value) {
    return error(R"({"num_hidden_layers":)" + value + R"(,"hidden_size":64,"num_attention_heads":8})");
  };
  for (const char* bad : {"0", "-1", "1.5", "4097", "[1]", "true"})
    EXPECT_EQ(layers(bad), "c.json: num_hidden_layers: expected a whole number from 1 to 4096, found \"" +
                               std::string(bad) + "\"");
  EXPECT_EQ(layers("\"32\""),
            "c.json: num_hidden_layers: expected a whole number from 1 to 4096, found the text \"32\"");
  EXPECT_EQ(layers("99999999999999999999").substr(0, 17), "c.json: expected ")
      << "no number that JSON readers take";
  EXPECT_EQ(error(R"({"num_hidden_layers":1,"hidden_size":65,"num_attention_heads":8})"),
            "c.json: head_dim: expected a head size, because 65 (hidden_size) is not divisible by 8 heads");
  EXPECT_EQ(error("{" + kDims + R"(,"num_key_value_heads":9})"),
            "c.json: num_key_value_heads: expected a whole number from 1 to 8, found \"9\"");
  EXPECT_EQ(error("{" + kDims + R"(,"use_sliding_window":1})"),
            "c.json: use_sliding_window: expected true or false, found \"1\"");
  EXPECT_EQ(error(std::string(kMostConfigBytes + 1, ' ')), "c.json: expected a config of at most 16 MiB");
  // Repositories with lists of modules have configs above 1 MiB.
  std::string large = "{" + kDims + R"(,"quantization_config":{"ignore":["a")";
  for (int i = 0; large.size() < std::size_t{3} << 20; ++i)
    large += ",\"model.layers." + std::to_string(i) + ".mlp\"";
  EXPECT_EQ(error(large + R"(],"quant_method":"fp8"}})"), "no error");
}

TEST(ModelConfig, CachesOfAnotherKindAreRefused) {
  EXPECT_EQ(error("{" + kDims + R"(,"attention_chunk_size":8192})").substr(0, 29),
            "c.json: attention_chunk_size:");
  EXPECT_EQ(error("{" + kDims + R"(,"num_kv_shared_layers":2})").substr(0, 29),
            "c.json: num_kv_shared_layers:");
  EXPECT_EQ(error("{" + kDims + R"(,"num_kv_shared_layers":0})"), "no error");
  EXPECT_EQ(error("{" + kDims + R"(,"is_encoder_decoder":true})").substr(0, 27),
            "c.json: is_encoder_decoder:");
  EXPECT_EQ(error("{" + kDims + R"(,"is_encoder_decoder":false})"), "no error");
  EXPECT_EQ(error("{" + kDims + R"(,"index_head_dim":128})").substr(0, 23), "c.json: index_head_dim:");
}

/// Attention keys that were not read were once ignored, and each layer counted as full attention.
TEST(ModelConfig, KeysOfAttentionThatAreNotUnderstoodStopTheAnswer) {
  const std::string why =
      ": expected only keys that kvplan knows, found another key about attention: the KV cache may depend on "
      "it";
  for (const auto& [key, value] : std::map<std::string, std::string>{
           {"attn_layer_indices", "[9,18,27]"},  // Bamba
           {"block_types", R"(["recurrent","recurrent","attention"])"},
           {"attention_window_size", "2048"},  // RecurrentGemma
           {"global_head_dim", "512"},         // Gemma 4
           {"num_global_key_value_heads", "4"},
           {"compress_ratios", "[0,0,4,128]"},  // DeepSeek-V4
           {"swa_num_key_value_heads", "8"},
           {"mamba_d_state", "256"},
           {"conv_L_cache", "3"},
           {"full_attn_idxs", "[2,5]"},
           {"hybrid_layer_ids", "[6,12]"},
           // Keys are read by their words, whatever parts and capitals they have.
           {"numKeyValueHeads", "2"},
           {"Num_Key_Value_Heads", "2"},
           {"num_key_value_heads ", "2"},
           {"localWindow", "512"},
           {"nsa_block_size", "64"},
           {"delta_net", "{\"size\":3}"},
           {"sparse_attention_config", "{\"block\":4}"}})
    EXPECT_EQ(error("{" + kDims + ",\"" + key + "\":" + value + "}"), "c.json: " + key + why);
  EXPECT_EQ(error(R"({"text_config":{)" + kDims + R"(,"swa_head_dim":8}})"),
            "c.json: text_config.swa_head_dim" + why);
  // Values that leave a key unset, and keys that do not change what the cache holds.
  for (const char* silent :
       {R"("attn_layer_indices":null)", R"("compress_ratios":[])", R"("swa_head_dim":0)",
        R"("attention_bias":true)", R"("attention_dropout":0.1)", R"("mlp_layer_types":["dense"])",
        R"("attn_logit_softcapping":50.0)", R"("mtp_layers_block_type":["attention"])",
        R"("sliding_window_size":-1)", R"("full_attn_mod":1)", R"("lm_head_bias":true)",
        R"("cla_share_factor":2)", R"("attn_qkv_bias":true)", R"("query_pre_attn_scalar":256)"})
    EXPECT_EQ(error("{" + kDims + "," + silent + "}"), "no error") << silent;
}

/// A key that is missing changes what the others mean.
TEST(ModelConfig, HalfOfALatentCacheIsRefused) {
  EXPECT_EQ(
      error("{" + kDims + R"(,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128})"),
      "c.json: kv_lora_rank: expected the rank of the latent cache beside qk_rope_head_dim, found nothing");
  EXPECT_EQ(error("{" + kDims + R"(,"kv_lora_rank":null,"qk_nope_head_dim":0,"qk_rope_head_dim":0})"),
            "no error");
  EXPECT_EQ(error("{" + kDims + R"(,"kv_lora_rank":512,"qk_rope_head_dim":64,"index_n_heads":32})"),
            "c.json: index_n_heads: expected only keys that kvplan knows, found another key about attention: "
            "the KV cache may depend on it");
  for (const char* type : {"deepseek_v32", "glm_moe_dsa", "minimax_m3", "step3p7"})
    EXPECT_EQ(error("{" + kDims + R"(,"sliding_window":8,"model_type":")" + type + "\"}").substr(0, 19),
              "c.json: model_type:")
        << type;
}

/// Of these families no layer has its window, if nothing says that windows are used.
TEST(ModelConfig, WindowsThatAreOffUnlessTheFileSaysSo) {
  for (const char* type : {"qwen2", "qwen3", "qwen3_moe", "mimo"}) {
    const std::string base = kDims + R"(,"sliding_window":100,"model_type":")" + type + "\"";
    EXPECT_EQ(windows(base), (Windows{0, 0, 0, 0, 0, 0})) << type;
    EXPECT_EQ(windows(base + R"(,"use_sliding_window":true)"), (Windows{0, 0, 0, 0, 0, 0})) << type;
    EXPECT_EQ(windows(base + R"(,"use_sliding_window":true,"max_window_layers":4)"),
              (Windows{0, 0, 0, 0, 100, 100}))
        << type;
  }
}

TEST(ModelConfig, SynonymousKeysSayTheSame) {
  EXPECT_EQ(error("{" + kDims + R"(,"num_key_value_heads":2,"num_kv_heads":2})"), "no error");
  EXPECT_EQ(error("{" + kDims + R"(,"num_key_value_heads":2,"num_kv_heads":1})"),
            "c.json: num_kv_heads: expected the number of num_key_value_heads (2), which means the same, "
            "found \"1\"");
  EXPECT_EQ(error("{" + kDims + R"(,"head_dim":64,"kv_channels":32})"),
            "c.json: kv_channels: expected the number of head_dim (64), which means the same, found \"32\"");
}

/// Keys with default values may be left out; then only the family shows that layers differ.
TEST(ModelConfig, AFamilyWithDifferentLayersSaysWhich) {
  const auto of_type = [](const std::string& type, const std::string& more = "") {
    return error("{" + kDims + R"(,"model_type":")" + type + "\"" + more + "}");
  };
  EXPECT_EQ(of_type("qwen3_next"),
            "c.json: model_type: expected keys and values for each token in each layer; models of the family "
            "\"qwen3_next\" have layers of linear attention, and the file does not say which layers "
            "(layer_types)");
  EXPECT_EQ(of_type("mamba2"),
            "c.json: model_type: expected keys and values for each token in each layer; models of the family "
            "\"mamba2\" have layers with a state in place of a KV cache");
  for (const char* type : {"jamba", "bamba", "recurrent_gemma", "zamba2", "granitemoehybrid", "nemotron_h",
                           "falcon_h1", "minimax_m1", "kimi_linear", "lfm2", "plamo2", "gemma3n_text",
                           "llama4_text", "qwen3_5_moe_text", "deepseek_v4", "nemotron-nas"})
    EXPECT_EQ(of_type(type).substr(0, 19), "c.json: model_type:") << type;
  EXPECT_EQ(error(R"({"model_type":"x","text_config":{)" + kDims + R"(,"model_type":"qwen3_5_text"}})")
                .substr(0, 31),
            "c.json: text_config.model_type:");
  // A file that lists the layers is read, or refused with the key that lists them.
  const std::string full =
      R"(,"layer_types":["full_attention","full_attention","full_attention","full_attention",)"
      R"("full_attention","full_attention"])";
  EXPECT_EQ(of_type("qwen3_next", full), "no error");
  EXPECT_EQ(of_type("qwen3_next", R"(,"layer_types":null)").substr(0, 19), "c.json: model_type:");
  for (const char* alike : {"llama", "qwen3", "gemma3_text", "minimax_m2", "deepseek_v3", "text", ""})
    EXPECT_EQ(of_type(alike), "no error") << alike;
}

TEST(ModelConfig, EachKvHeadServesAsManyHeads) {
  const std::string dims = R"("num_hidden_layers":6,"hidden_size":64,"head_dim":8,"num_attention_heads":7)";
  EXPECT_EQ(error("{" + dims + R"(,"num_key_value_heads":3})"),
            "c.json: num_key_value_heads: expected a divisor of the 7 query heads as the number of KV heads, "
            "found 3");
  EXPECT_EQ(error("{" + dims + R"(,"num_key_value_heads":1})"), "no error");
}

/// Python writes numbers that JSON does not have; time_step_limit of Nemotron-3 is one.
TEST(ModelConfig, NumbersThatOnlyPythonWrites) {
  EXPECT_EQ(error("{" + kDims + R"(,"a":[0.0, Infinity],"b":-Infinity,"c":NaN,"d":"Infinity \" NaN"})"),
            "no error");
  EXPECT_NE(error("{" + kDims + R"(,"num_key_value_heads":Infinity})"), "no error");
  EXPECT_NE(error("{" + kDims + R"(,"a":Infinite})"), "no error");
}

TEST(ModelConfig, AKeyStandsOnce) {
  EXPECT_EQ(error("{" + kDims + R"(,"head_dim":8,"head_dim":16})"),
            "c.json: head_dim: expected each key once, found it twice");
  EXPECT_EQ(error(R"({"text_config":{)" + kDims + R"(,"x":[{"a":1,"a":2}]}})"),
            "c.json: text_config.x[0].a: expected each key once, found it twice");
}

TEST(ModelConfig, WeightsThatCannotBeCounted) {
  const auto miss = [](const std::string& members) {
    const auto weights = shape(kDims + members).weights();
    return weights.ok() ? "no error" : weights.error().to_string();
  };
  EXPECT_EQ(miss(""), "model: the weights of c.json cannot be counted: vocab_size is missing");
  EXPECT_EQ(miss(R"(,"vocab_size":100)"),
            "model: the weights of c.json cannot be counted: intermediate_size is missing");
  EXPECT_EQ(miss(R"(,"vocab_size":100,"intermediate_size":10)"), "no error");
  EXPECT_EQ(miss(R"(,"vocab_size":100,"intermediate_size":10,"num_experts":4)"),
            "model: the weights of c.json cannot be counted: num_experts_per_tok is missing");
  const std::int64_t narrow =
      shape(kDims + R"(,"vocab_size":100,"intermediate_size":10,"head_dim":24,"v_head_dim":16)")
          .weights()
          .value()
          .all;
  EXPECT_EQ(narrow, 6 * (8 * 64 * (24 + 16 + 24 + 16) + 2 * 64 + 3 * 64 * 10) + 2 * 100 * 64 + 64)
      << "queries, what is summed of values, keys, values";
  const WeightCounts counts =
      shape(kDims +
            R"(,"vocab_size":100,"intermediate_size":10,"num_local_experts":4,"num_experts_per_tok":2)")
          .weights()
          .value();
  const std::int64_t layer = 4 * 64 * 64 + 2 * 64 + 64 * 4;
  EXPECT_EQ(counts.read, 6 * (layer + 4 * 3 * 64 * 10) + 100 * 64 + 64);
  EXPECT_EQ(counts.multiplied, 6 * (layer + 2 * 3 * 64 * 10) + 100 * 64 + 64);
  EXPECT_EQ(counts.all, counts.read + 100 * 64);
}

TEST(ModelCatalogue, AliasesAreOtherNamesOfOneModelEach) {
  for (const char* name : {"Llama-3.1-70B", "meta-llama/Llama-3.1-70B-Instruct", "LLAMA-3-70B",
                           "llama-3.3-70b-instruct", "Meta-LLAMA/meta-llama-3-70b"}) {
    const auto found = find_model(name);
    ASSERT_TRUE(found.ok()) << name;
    EXPECT_EQ(found.value()->name, "llama-3-70b") << name;
    EXPECT_FALSE(names_model_file(name)) << name;
  }
  std::set<std::string> names;
  const auto add = [&](std::string name) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    EXPECT_TRUE(names.insert(name).second) << name << " names two models";
  };
  for (const ModelShape& shape : models()) {
    std::set<std::string> own{shape.name};  // after the slash, an alias may be the model's name
    for (const std::string& alias : model_aliases(shape)) {
      EXPECT_EQ(find_model(alias).value(), &shape) << alias;
      EXPECT_EQ(std::count(alias.begin(), alias.end(), '/'), 1) << alias << " is a repository";
      std::string part = alias.substr(alias.find('/') + 1);
      std::transform(part.begin(), part.end(), part.begin(), [](unsigned char c) { return std::tolower(c); });
      own.insert(part);
    }
    for (const std::string& name : own) add(name);
  }
}

/// A name with an ending for other bits of weights, and a repository of another organisation, are not aliases; the
/// error says what to do.
TEST(ModelCatalogue, OtherWeightsAreNoAlias) {
  const auto error = [](std::string_view name) { return find_model(name).error().to_string(); };
  EXPECT_EQ(error("Qwen3-32B-FP8"),
            "model: unknown model \"Qwen3-32B-FP8\"; \"-FP8\" may mean different weights than those of "
            "qwen3-32b: give its config.json, or model=qwen3-32b with deployment.weight_bits if only the "
            "number of bits per weight differs");
  EXPECT_NE(error("Llama-3.1-8B-Instruct-AWQ-INT4")
                .find("\"-AWQ-INT4\" may mean different weights than those of llama-3-8b:"),
            std::string::npos);
  EXPECT_NE(
      error("someone/Qwen3-32B").find("this repository belongs to another organisation than Qwen/Qwen3-32B"),
      std::string::npos);
  EXPECT_TRUE(names_model_file("someone/Qwen3-32B")) << "a path";
  EXPECT_EQ(model_hint("a/b"), "");
  EXPECT_EQ(model_hint("zebra-1b"), "");
}

TEST(ModelCatalogue, EveryFileIsAModelByItsName) {
  ASSERT_EQ(models().size(), embedded_configs().size());
  for (const EmbeddedConfig& config : embedded_configs()) {
    const std::string name(config.file.substr(0, config.file.rfind(".json")));
    const auto found = find_model(name);
    ASSERT_TRUE(found.ok()) << name;
    EXPECT_NE(found.value()->source, name) << "says where its figures are from";
    EXPECT_TRUE(found.value()->weights().ok()) << name;
    EXPECT_FALSE(names_model_file(name));
  }
  EXPECT_FALSE(find_model("llama").ok());
  EXPECT_TRUE(names_model_file("a/b"));
  EXPECT_TRUE(names_model_file("config.json"));
}

}  // namespace
}  // namespace kvplan::model
