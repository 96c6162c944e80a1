#include "simulator/modelfile/layer_families.h"

#include <algorithm>
#include <array>

namespace kvplan::model {
namespace {

constexpr std::string_view kStates = "layers with a state in place of a KV cache";
constexpr std::string_view kLinear = "layers of linear attention";
constexpr std::string_view kConvolutions = "layers of convolutions";
constexpr std::string_view kWindows = "layers with a sliding window";
constexpr std::string_view kIndexer = "layers with an indexer";

constexpr std::array<const char*, 2> kPeriod{"attn_layer_period", "layers_block_type"};
constexpr std::array<const char*, 1> kIndices{"attn_layer_indices"};
constexpr std::array<const char*, 2> kBlocks{"hybrid_override_pattern", "layers_block_type"};
constexpr std::array<const char*, 2> kTypes{"layer_types", "layers_block_type"};
constexpr std::array<const char*, 2> kBlockTypes{"block_types", "_block_types"};
constexpr std::array<const char*, 2> kInterval{"layer_types", "full_attention_interval"};
constexpr std::array<const char*, 1> kLinearConfig{"linear_attn_config"};
constexpr std::array<const char*, 2> kTypeList{"attn_type_list", "layer_types"};
constexpr std::array<const char*, 2> kFullIndexes{"layer_types", "full_attn_idxs"};
constexpr std::array<const char*, 2> kMambaSizes{"mamba_d_state", "mamba_d_ssm"};
constexpr std::array<const char*, 2> kMambaStep{"mamba_step", "full_attention_idx"};
constexpr std::array<const char*, 1> kPerLayer{"mb_per_layer"};
constexpr std::array<const char*, 1> kGroup{"layer_group_size"};
constexpr std::array<const char*, 2> kChunks{"attention_chunk_size", "layer_types"};
constexpr std::array<const char*, 2> kShared{"num_kv_shared_layers", "layer_types"};
constexpr std::array<const char*, 1> kCompressed{"compress_ratios"};
constexpr std::array<const char*, 1> kHybridPattern{"hybrid_layer_pattern"};
constexpr std::array<const char*, 1> kBlockConfigs{"block_configs"};
constexpr std::array<const char*, 2> kAttentionTypes{"attention_types", "attention_layers"};
constexpr std::array<const char*, 2> kWindowPattern{"layer_types", "sliding_window_pattern"};
constexpr std::array<const char*, 1> kIndexSize{"index_head_dim"};
constexpr std::array<const char*, 1> kSparse{"sparse_attention_config"};

// configuration_*.py of huggingface/transformers v4.57 and of the models' own repositories.
constexpr std::array<LayerFamily, 42> kFamilies{{
    {"bailing_hybrid", kLinear, kGroup},
    {"bailing_moe_linear", kLinear, kGroup},
    {"bamba", kStates, kIndices},
    {"cwm", kWindows, kWindowPattern},
    {"deepseek_v32", kIndexer, kIndexSize},
    {"deepseek_v4", "layers with compressed caches", kCompressed},
    {"exaone4", kWindows, kWindowPattern},
    {"falcon_h1", "a state beside the KV cache", kMambaSizes},
    {"falcon_mamba", kStates, {}},
    {"gemma3n", "layers that share the cache of other layers", kShared},
    {"gemma4", kWindows, kWindowPattern},
    {"glm_moe_dsa", kIndexer, kIndexSize},
    {"gpt_neo", kWindows, kAttentionTypes},
    {"granitemoehybrid", kStates, kTypes},
    {"jamba", kStates, kPeriod},
    {"kimi_linear", kLinear, kLinearConfig},
    {"lfm2", kConvolutions, kFullIndexes},
    {"lfm2_moe", kConvolutions, kFullIndexes},
    {"llama4", "attention in chunks", kChunks},
    {"mamba", kStates, {}},
    {"mamba2", kStates, {}},
    {"mimo_v2_flash", kWindows, kHybridPattern},
    {"minimax", kLinear, kTypeList},
    {"minimax_m1", kLinear, kTypeList},
    {"minimax_m3", kIndexer, kSparse},
    {"minimax_text_01", kLinear, kTypeList},
    {"nemotron-nas", "layers of different shapes", kBlockConfigs},
    {"nemotron_h", kStates, kBlocks},
    {"olmo3", kWindows, kWindowPattern},
    {"phi4flash", kStates, kPerLayer},
    {"plamo2", kStates, kMambaStep},
    {"qwen3_5", kLinear, kInterval},
    {"qwen3_5_moe", kLinear, kInterval},
    {"qwen3_next", kLinear, kInterval},
    {"recurrent_gemma", kStates, kBlockTypes},
    {"rwkv", kStates, {}},
    {"rwkv7", kStates, {}},
    {"step3p5", kWindows, kWindowPattern},
    {"step3p7", kWindows, kWindowPattern},
    {"xlstm", kStates, {}},
    {"zamba", kStates, kPeriod},
    {"zamba2", kStates, kPeriod},
}};

}  // namespace

const LayerFamily* find_layer_family(std::string_view model_type) {
  constexpr std::string_view kPart = "_text";
  if (model_type.ends_with(kPart)) model_type.remove_suffix(kPart.size());
  const auto found = std::find_if(kFamilies.begin(), kFamilies.end(),
                                  [&](const LayerFamily& each) { return each.model_type == model_type; });
  return found == kFamilies.end() ? nullptr : &*found;
}

}  // namespace kvplan::model
