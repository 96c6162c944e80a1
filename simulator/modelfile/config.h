// Shapes of models out of Hugging Face `config.json` files.
//
// Read are: num_hidden_layers, hidden_size, num_attention_heads, num_key_value_heads (absent: as many as heads;
// multi_query: 1), head_dim (absent: hidden_size / heads), v_head_dim (absent or 0: values are as wide as keys),
// kv_lora_rank with qk_rope_head_dim (one latent vector instead of heads), sliding_window with layer_types,
// use_sliding_window and max_window_layers, or sliding_window_pattern; and for the number of weights
// intermediate_size, vocab_size, tie_word_embeddings and the sizes of experts. The older names n_layer, n_embd,
// n_head, num_kv_heads, n_inner, ffn_dim are taken too. Where the language model is a part of a larger one, its part
// is read (text_config, llm_config or language_config). Other keys are left alone, except those of caches that are no
// keys and values per token: these are errors, since a number without them would be wrong. A member "kvplan" {"name",
// "source"} names the model; without it the file's name does.
//
// Which layers have a window where the file does not say, by model_type: gemma2 and gpt_oss every other one, gemma3 all
// but every sixth, cohere2 all but every fourth (huggingface/transformers v4.53, configuration_*.py of these); with
// use_sliding_window those from max_window_layers on (qwen2); otherwise all.
#pragma once

#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {

/// A config file may be as long as this.
inline constexpr std::size_t kMostConfigBytes = std::size_t{1} << 20;

/// Reads the text of a config. `file` stands in errors, which have the key as field.
Result<ModelShape> parse_config(std::string_view text, const std::string& file);

}  // namespace kvplan::model
