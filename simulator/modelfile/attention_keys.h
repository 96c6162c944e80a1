// Which keys of a config describe attention, so that no such key is ignored: a result computed without it would look
// valid and be wrong.
//
// A key is an attention key by its words, the parts between underscores: heads and their sizes, windows, KV, types of
// layers or blocks, compression, layers with a state instead of a KV cache. It is understood if it is read in
// each config, if the family's layers are read from it (Config::claim), or if it does not change what the cache holds.
// attention_keys.cpp has the lists; a change that reads one more key in each config adds the key there.
#pragma once

#include <string_view>

namespace kvplan::model {

/// Decided by the words of the key. True for "attn_layer_indices", "swa_head_dim", "block_types", "compress_ratios",
/// "mamba_d_state".
bool belongs_to_attention(std::string_view key);

/// True if the value leaves the key unset: null, false, 0, -1, or an empty text, list or object. `json`: the value as
/// JSON without spaces.
bool says_nothing(std::string_view key, std::string_view json);

/// True if the key is read or does not change the contents of the cache. REQUIRES: belongs_to_attention(key).
bool is_understood(std::string_view key);

}  // namespace kvplan::model
