// Shapes of models from Hugging Face `config.json` files.
//
// Keys that are read: num_hidden_layers, hidden_size, num_attention_heads, num_key_value_heads (absent: as many as
// heads; multi_query: 1), head_dim (absent: hidden_size / heads), v_head_dim (absent or 0: values are as wide as keys),
// kv_lora_rank with qk_rope_head_dim (one latent vector instead of heads), with index_head_dim for an indexer;
// sliding_window; the older names n_layer, n_embd, n_head, num_kv_heads, n_inner, ffn_dim. Which layers keep something
// else is in layer_plan.h, sizes of states in layer_states.h, the number of weights in layer_weights.h, their bits in
// quantisation.h. If the language model is a part of a larger model, its part is read (text_config, llm_config or
// language_config). The longest request is in positions.h. Errors are caches that are not modelled, every attention key
// that is not read (attention_keys.h), a family with different layers in a file that does not say which
// (layer_families.h), and a key that occurs twice: a result without them would be wrong. Other keys are ignored. A
// member "kvplan" {"name", "source"} names the model; without it the file's name does. Infinity and NaN, which only
// Python writes, are read as a number beyond all limits.
//
// Layers with a window, if the file does not list them, by model_type: gemma2 and gpt_oss every other layer, gemma3 all
// but every sixth, cohere2 all but every fourth (huggingface/transformers v4.53, configuration_*.py of these); with
// use_sliding_window those from max_window_layers on (qwen2); otherwise all.
#pragma once

#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {

/// Largest size of a config file.
inline constexpr std::size_t kMostConfigBytes = std::size_t{16} << 20;

/// The file in which NVIDIA's repositories say what their config.json leaves out: how weights are quantised.
inline constexpr std::string_view kQuantisationFile = "hf_quant_config.json";

/// Reads the text of a config. `quantisation`: that of kQuantisationFile beside it, used where the config does not say
/// how its weights are quantised; empty: there is none. Errors name `file`, with the key as field.
Result<ModelShape> parse_config(std::string_view text, const std::string& file,
                                std::string_view quantisation = {});

}  // namespace kvplan::model
