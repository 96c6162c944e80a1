#include "tests/unit/deployment/start_up_models.h"

#include <gtest/gtest.h>

#include <map>

#include "simulator/modelfile/config.h"
#include "tests/unit/traces/support.h"

namespace kvplan::runs::testing {
namespace {

/// Keys that decide bytes, from the config.json of each repository at huggingface.co.
const std::map<std::string, std::string>& configs() {
  static const std::map<std::string, std::string> kConfigs{
      {"Qwen2.5-7B",
       R"("model_type":"qwen2","num_hidden_layers":28,"hidden_size":3584,"num_attention_heads":28,)"
       R"("num_key_value_heads":4,"intermediate_size":18944,"vocab_size":152064,)"
       R"("max_position_embeddings":32768,"use_sliding_window":false,"tie_word_embeddings":false)"},
      {"gemma-3-12b",
       R"("model_type":"gemma3","text_config":{"model_type":"gemma3_text","num_hidden_layers":48,)"
       R"("hidden_size":3840,"num_attention_heads":16,"num_key_value_heads":8,"head_dim":256,)"
       R"("intermediate_size":15360,"vocab_size":262208,"sliding_window":1024,)"
       R"("sliding_window_pattern":6,"max_position_embeddings":131072,"tie_word_embeddings":true},)"
       R"("vision_config":{"model_type":"siglip_vision_model","hidden_size":1152,"image_size":896,)"
       R"("intermediate_size":4304,"num_attention_heads":16,"num_hidden_layers":27,)"
       R"("patch_size":14,"vision_use_head":false},"mm_tokens_per_image":256)"},
      {"granite-3.1-8b", R"("model_type":"granite","num_hidden_layers":40,"hidden_size":4096,)"
                         R"("num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":12800,)"
                         R"("vocab_size":49155,"max_position_embeddings":131072,"tie_word_embeddings":true)"},
      {"phi-4", R"("model_type":"phi3","num_hidden_layers":40,"hidden_size":5120,"num_attention_heads":40,)"
                R"("num_key_value_heads":10,"intermediate_size":17920,"vocab_size":100352,)"
                R"("max_position_embeddings":16384,"tie_word_embeddings":false)"},
      {"Mistral-Small-3.1-24B", R"("model_type":"mistral3","text_config":{"model_type":"mistral",)"
                                R"("num_hidden_layers":40,"hidden_size":5120,"num_attention_heads":32,)"
                                R"("num_key_value_heads":8,"head_dim":128,"intermediate_size":32768,)"
                                R"("vocab_size":131072,"sliding_window":null,)"
                                R"("max_position_embeddings":131072,"tie_word_embeddings":false},)"
                                R"("vision_config":{"model_type":"pixtral","head_dim":64,"hidden_size":1024,)"
                                R"("image_size":1540,"intermediate_size":4096,"num_attention_heads":16,)"
                                R"("num_hidden_layers":24,"patch_size":14},"spatial_merge_size":2,)"
                                R"("multimodal_projector_bias":false)"},
      {"Llama-3.3-70B",
       R"("model_type":"llama","num_hidden_layers":80,"hidden_size":8192,)"
       R"("num_attention_heads":64,"num_key_value_heads":8,"intermediate_size":28672,)"
       R"("vocab_size":128256,"max_position_embeddings":131072,"tie_word_embeddings":false)"}};
  return kConfigs;
}

/// Files of shared/reference/configs.
const std::map<std::string, std::string>& files() {
  static const std::map<std::string, std::string> kFiles{
      {"CodeLlama-7b", "codellama-7b.json"},
      {"DeepSeek-V2-Lite", "deepseek-v2-lite.json"},
      {"Llama-3.1-8B", "meta-llama--Meta-Llama-3.1-8B_config.json"},
      {"Mixtral-8x7B", "mistralai--Mixtral-8x7B-v0.1_config.json"},
      {"gpt-oss-20b", "openai--gpt-oss-20b_config.json"},
      {"Qwen3-30B-A3B", "Qwen--Qwen3-30B-A3B_config.json"},
      {"Qwen3-8B", "Qwen--Qwen3-8B_config.json"},
      {"Qwen3-14B", "qwen3-14b.json"}};
  return kFiles;
}

/// What the checkpoint says of its weights: 8 bits, embedding and output layer apart.
std::string quantised(const std::string& quantization) {
  if (quantization == "fp8") return R"(,"quantization_config":{"quant_method":"fp8"})";
  if (quantization == "compressed-tensors")
    return R"(,"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"group_0":{"targets":)"
           R"(["Linear"],"weights":{"num_bits":8,"type":"int"}}},"ignore":["lm_head","re:vision_tower.*",)"
           R"("re:multi_modal_projector.*"]})";
  return {};
}

std::string config_of(const std::string& name) {
  for (const auto& [part, text] : configs())
    if (name.find(part) != std::string::npos) return "{" + text + R"(,"torch_dtype":"bfloat16"})";
  for (const auto& [part, file] : files())
    if (name.find(part) != std::string::npos)
      return traces::testing::read_file(traces::testing::shared_traces() + "/../reference/configs/" + file);
  return {};
}

}  // namespace

model::ModelShape start_up_model(const std::string& name, const std::string& quantization) {
  std::string text = config_of(name);
  EXPECT_FALSE(text.empty()) << name;
  if (text.find("quantization_config") == std::string::npos)
    text.insert(text.find_last_of('}'), quantised(quantization));
  Result<model::ModelShape> shape = model::parse_config(text, name);
  EXPECT_TRUE(shape.ok()) << (shape.ok() ? "" : shape.error().to_string());
  if (!shape.ok()) return {};
  return std::move(shape).value();
}

}  // namespace kvplan::runs::testing
