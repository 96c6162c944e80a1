#include "simulator/modelfile/layer_kinds.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace kvplan::model {
namespace {

struct LayerWord {
  std::string_view word;
  DeclaredKind kind;
};
constexpr std::array<LayerWord, 21> kLayerWords{{
    {"full_attention", DeclaredKind::kFull},
    {"attention", DeclaredKind::kFull},
    {"deepseek_sparse_attention", DeclaredKind::kFull},
    {"minimax_m3_sparse", DeclaredKind::kFull},
    {"global_attention", DeclaredKind::kFull},
    {"*", DeclaredKind::kFull},
    {"sliding_attention", DeclaredKind::kSliding},
    {"local_attention", DeclaredKind::kSliding},
    {"chunked_attention", DeclaredKind::kChunked},
    {"linear_attention", DeclaredKind::kState},
    {"mamba", DeclaredKind::kState},
    {"mamba2", DeclaredKind::kState},
    {"M", DeclaredKind::kState},
    {"conv", DeclaredKind::kState},
    {"lightning_attention", DeclaredKind::kState},
    {"kda", DeclaredKind::kState},
    {"moe", DeclaredKind::kExperts},
    {"E", DeclaredKind::kExperts},
    {"mlp", DeclaredKind::kDense},
    {"-", DeclaredKind::kDense},
    {"mamba2_attention", DeclaredKind::kBoth},
}};

std::optional<DeclaredKind> kind_of(std::string_view word) {
  const auto found = std::find_if(kLayerWords.begin(), kLayerWords.end(),
                                  [&](const LayerWord& each) { return each.word == word; });
  return found == kLayerWords.end() ? std::nullopt : std::optional(found->kind);
}

Error wrong_length(const Config& config, std::int64_t layers, const char* key) {
  return config.wrong("expected a list with one text per layer of " + std::to_string(layers) + " layers",
                      key);
}

/// A list of words: layer_types, layers_block_type.
Result<DeclaredKinds> from_words(const Config& config, std::int64_t layers, const char* key) {
  if (!config.is_list(key)) return wrong_length(config, layers, key);
  KVPLAN_TRY(const auto words, config.texts(key));
  if (words.size() != static_cast<std::size_t>(layers)) return wrong_length(config, layers, key);
  DeclaredKinds out{.of = {}, .key = key};
  for (const std::string& word : words) {
    const auto kind = kind_of(word);
    if (!kind)
      return config.wrong(
          "expected a kind of layer that kvplan knows (full_attention, sliding_attention, "
          "chunked_attention, linear_attention, mamba, moe, ...), found the text " +
              found_text(word),
          key);
    out.of.push_back(*kind);
    out.apart = out.apart || *kind == DeclaredKind::kExperts || *kind == DeclaredKind::kDense;
  }
  return out;
}

/// Nemotron-H: a letter for each layer.
Result<DeclaredKinds> from_letters(const Config& config, std::int64_t layers) {
  constexpr const char* kKey = "hybrid_override_pattern";
  const std::string pattern = config.text(kKey);
  if (pattern.size() != static_cast<std::size_t>(layers))
    return config.wrong("expected a text with one letter per layer of " + std::to_string(layers) + " layers",
                        kKey);
  DeclaredKinds out{.of = {}, .key = kKey, .apart = true};
  for (const char letter : pattern) {
    const auto kind = kind_of(std::string_view(&letter, 1));
    if (!kind) return config.wrong("expected the letters M, *, E and -, found " + found_text(pattern), kKey);
    out.of.push_back(*kind);
  }
  return out;
}

/// A number for each layer.
Result<DeclaredKinds> from_numbers(const Config& config, std::int64_t layers, const char* key,
                                   DeclaredKind zero, DeclaredKind one) {
  KVPLAN_TRY(const auto numbers, config.numbers(key, {0, 1}));
  if (numbers.size() < static_cast<std::size_t>(layers))
    return config.wrong("expected a list with one number per layer of " + std::to_string(layers) + " layers",
                        key);
  DeclaredKinds out{.of = {}, .key = key};
  for (std::int64_t i = 0; i < layers; ++i)
    out.of.push_back(numbers[static_cast<std::size_t>(i)] == 0 ? zero : one);
  return out;
}

/// `other` in all layers but one of each `period`, by default its last.
DeclaredKinds by_period(std::int64_t layers, std::int64_t period, DeclaredKind other, const char* key,
                        std::int64_t last = -1) {
  DeclaredKinds out{.of = {}, .key = key};
  if (last < 0) last = period - 1;
  for (std::int64_t i = 0; i < layers; ++i)
    out.of.push_back(i % period == last ? DeclaredKind::kFull : other);
  return out;
}

DeclaredKinds all(std::int64_t layers, DeclaredKind kind) {
  return {.of = std::vector<DeclaredKind>(static_cast<std::size_t>(layers), kind)};
}

/// Numbers of the layers with full attention, from `first`.
Result<DeclaredKinds> from_indices(const Config& config, const Config& where, std::int64_t layers,
                                   const char* key, std::int64_t first) {
  KVPLAN_TRY(const auto indices, where.numbers(key, {first, layers - 1 + first}));
  config.claim({key});
  DeclaredKinds out = all(layers, DeclaredKind::kState);
  out.key = key;
  for (const std::int64_t index : indices)
    out.of[static_cast<std::size_t>(index - first)] = DeclaredKind::kFull;
  return out;
}

/// Windows where the file does not list them.
Result<DeclaredKinds> by_window(const Config& config, std::int64_t layers) {
  KVPLAN_TRY(const auto window, config.maybe({"sliding_window"}, {1, kMostWindow}));
  KVPLAN_TRY(std::optional<bool> used, config.flag("use_sliding_window"));
  const std::string type = config.text("model_type");
  // Their windows are off where nothing says otherwise (huggingface/transformers v4.57, configuration_qwen2.py).
  const bool off_unless_said = type.starts_with("qwen2") || type.starts_with("qwen3") || type == "mimo";
  if (off_unless_said) used = used.value_or(false);
  if (!window || used == false) return all(layers, DeclaredKind::kFull);
  if (used == true) {
    constexpr std::int64_t kQwenFirst = 28;
    KVPLAN_TRY(const std::int64_t first,
               config.whole_or({"max_window_layers"}, {0, INT32_MAX}, off_unless_said ? kQwenFirst : 0));
    DeclaredKinds out = all(layers, DeclaredKind::kFull);
    for (std::int64_t i = first; i < layers; ++i)
      out.of[static_cast<std::size_t>(i)] = DeclaredKind::kSliding;
    return out;
  }
  KVPLAN_TRY(const auto period,
             config.maybe({"sliding_window_pattern", "_sliding_window_pattern"}, {1, kMostLayers}));
  if (period) return by_period(layers, *period, DeclaredKind::kSliding, "sliding_window_pattern");
  if (type == "gemma2" || type == "gpt_oss")
    return by_period(layers, 2, DeclaredKind::kSliding, "sliding_window");
  if (type.starts_with("gemma3")) return by_period(layers, 6, DeclaredKind::kSliding, "sliding_window");
  if (type == "cohere2") return by_period(layers, 4, DeclaredKind::kSliding, "sliding_window");
  return all(layers, DeclaredKind::kSliding);
}

/// Llama 4: layers without rotary positions see everything, the others a chunk.
Result<DeclaredKinds> by_chunk(const Config& config, std::int64_t layers) {
  config.claim({"attention_chunk_size", "no_rope_layers", "no_rope_layer_interval"});
  // Not empty; 1: with rotary positions.
  KVPLAN_TRY(const auto rotary, config.numbers("no_rope_layers", {0, 1}));
  if (!rotary.empty())
    return from_numbers(config, layers, "no_rope_layers", DeclaredKind::kFull, DeclaredKind::kChunked);
  constexpr std::int64_t kEvery = 4;  // huggingface/transformers, configuration_llama4.py
  KVPLAN_TRY(const std::int64_t interval,
             config.whole_or({"no_rope_layer_interval"}, {1, kMostLayers}, kEvery));
  return by_period(layers, interval, DeclaredKind::kChunked, "attention_chunk_size");
}

}  // namespace

Result<DeclaredKinds> read_kinds(const Config& config, std::int64_t layers) {
  const std::string type = config.text("model_type");
  for (const char* key : {"layer_types", "layers_block_type"}) {
    if (config.present({key}) == nullptr) continue;
    config.claim({"layers_block_type", "full_attention_interval", "linear_attn_config", "attn_type_list",
                  "attn_layer_indices", "full_attn_idxs"});
    if (type.starts_with("llama4")) config.claim({"attention_chunk_size"});
    return from_words(config, layers, key);
  }
  if (config.present({"hybrid_override_pattern"}) != nullptr) {
    config.claim({"hybrid_override_pattern"});
    return from_letters(config, layers);
  }
  if (config.present({"hybrid_layer_pattern"}) != nullptr) {
    config.claim({"hybrid_layer_pattern"});
    return from_numbers(config, layers, "hybrid_layer_pattern", DeclaredKind::kFull, DeclaredKind::kSliding);
  }
  if (config.present({"attn_type_list"}) != nullptr) {
    config.claim({"attn_type_list"});
    return from_numbers(config, layers, "attn_type_list", DeclaredKind::kState, DeclaredKind::kFull);
  }
  if (const auto linear = config.inside("linear_attn_config")) {
    config.claim({"linear_attn_config"});
    return from_indices(config, *linear, layers, "full_attn_layers", 1);
  }
  if (config.present({"full_attention_interval"}) != nullptr) {
    config.claim({"full_attention_interval"});
    KVPLAN_TRY(const std::int64_t interval, config.whole({"full_attention_interval"}, kMostLayers));
    return by_period(layers, interval, DeclaredKind::kState, "full_attention_interval");
  }
  if (config.present({"attn_layer_period"}) != nullptr) {
    config.claim({"attn_layer_period", "attn_layer_offset"});
    KVPLAN_TRY(const std::int64_t period, config.whole({"attn_layer_period"}, kMostLayers));
    KVPLAN_TRY(const std::int64_t offset, config.whole_or({"attn_layer_offset"}, {0, period - 1}, 0));
    return by_period(layers, period, DeclaredKind::kState, "attn_layer_period", offset);
  }
  for (const char* key : {"attn_layer_indices", "full_attn_idxs"})
    if (config.present({key}) != nullptr && !type.empty())
      return from_indices(config, config, layers, key, 0);
  if (config.present({"attention_chunk_size"}) != nullptr && type.starts_with("llama4"))
    return by_chunk(config, layers);
  if (type == "falcon_h1") {
    DeclaredKinds out = all(layers, DeclaredKind::kBoth);
    out.key = "mamba_d_state";
    return out;
  }
  return by_window(config, layers);
}

}  // namespace kvplan::model
