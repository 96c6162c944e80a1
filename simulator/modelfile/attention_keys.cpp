#include "simulator/modelfile/attention_keys.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace kvplan::model {
namespace {

/// A key with one of these words is an attention key.
constexpr std::array<std::string_view, 29> kWords{
    "attention", "attentions", "attn", "head",   "heads",    "window",   "windows",    "kv",
    "query",     "swa",        "mla",  "mamba",  "ssm",      "conv",     "conv1d",     "recurrent",
    "rwkv",      "lru",        "cla",  "yoco",   "moba",     "compress", "compressed", "nsa",
    "dsa",       "delta",      "gla",  "retnet", "retention"};

/// So is a key with one word from each of these two lists.
constexpr std::array<std::string_view, 5> kLayers{"layer", "layers", "block", "blocks", "hybrid"};
constexpr std::array<std::string_view, 9> kKinds{"type",    "types", "pattern", "patterns", "indices",
                                                 "indexes", "idx",   "idxs",    "ids"};

/// First words of keys of other parts: feed-forward layers, and layers that predict further tokens.
constexpr std::array<std::string_view, 4> kOthers{"mlp", "moe", "mtp", "nextn"};

constexpr std::array<std::string_view, 20> kRead{
    "num_attention_heads", "n_head",       "num_key_value_heads",    "num_kv_heads",
    "multi_query",         "head_dim",     "attention_head_dim",     "kv_channels",
    "v_head_dim",          "kv_lora_rank", "qk_rope_head_dim",       "qk_nope_head_dim",
    "qk_head_dim",         "layer_types",  "sliding_window",         "use_sliding_window",
    "max_window_layers",   "use_cla",      "sliding_window_pattern", "_sliding_window_pattern"};

/// Last words of keys that describe how attention is computed or trained, not what the cache holds.
constexpr std::array<std::string_view, 15> kSilentEnds{
    "bias",   "dropout", "pdrop", "prob",      "softcapping", "cap",  "multiplier",    "scale",
    "scalar", "gate",    "norm",  "layernorm", "eps",         "fp32", "implementation"};

constexpr std::array<std::string_view, 18> kSilent{"_attn_implementation_autoset",
                                                   "_flash_attn_2_enabled",
                                                   "attention_logit_softcapping_method",
                                                   "attn_logit_softcapping_method",
                                                   "attn_temperature_len",
                                                   "attn_temperature_tuning",
                                                   "cla_share_factor",  // use_cla says whether
                                                   "num_ln_in_parallel_attn",
                                                   "output_attentions",
                                                   "parallel_attn",
                                                   "pre_allocate_kv_cache",
                                                   "reorder_and_upcast_attn",
                                                   "scale_attn_by_inverse_layer_idx",
                                                   "scale_attn_weights",
                                                   "use_bidirectional_attention",
                                                   "use_flash_attention",
                                                   "use_flash_attn",
                                                   "use_logn_attn"};

template <class List>
bool is_one_of(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// The words of a key, in small letters: of "num_kv_heads", and as well of "numKvHeads" and "Num KV heads".
std::vector<std::string> words_of(std::string_view key) {
  std::vector<std::string> words(1);
  char before = '_';
  for (const char c : key) {
    const bool capital = c >= 'A' && c <= 'Z';
    const bool small = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool after_small = (before >= 'a' && before <= 'z') || (before >= '0' && before <= '9');
    if (!words.back().empty() && ((!capital && !small) || (capital && after_small))) words.emplace_back();
    if (capital || small) words.back() += capital ? static_cast<char>(c - 'A' + 'a') : c;
    before = c;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

template <class List>
bool has_one_of(const List& list, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return is_one_of(list, word); });
}

}  // namespace

bool belongs_to_attention(std::string_view key) {
  const std::vector<std::string> words = words_of(key);
  if (words.empty() || is_one_of(kOthers, words.front())) return false;
  if (key.find("lm_head") != std::string_view::npos) return false;  // the output layer
  return has_one_of(kWords, words) || (has_one_of(kLayers, words) && has_one_of(kKinds, words));
}

bool says_nothing(std::string_view key, std::string_view json) {
  if (key == "full_attn_mod" && json == "1") return true;  // each layer (Phi-4)
  constexpr std::array<std::string_view, 8> kNothing{"null", "false", "0", "0.0", "-1", "\"\"", "[]", "{}"};
  return is_one_of(kNothing, json);
}

bool is_understood(std::string_view key) {
  return is_one_of(kRead, key) || is_one_of(kSilent, key) || is_one_of(kSilentEnds, words_of(key).back());
}

}  // namespace kvplan::model
