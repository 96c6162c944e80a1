#include "simulator/modelfile/config.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "simulator/base/number_input.h"
#include "simulator/base/utf8.h"
#include "simulator/modelfile/attention_keys.h"
#include "simulator/modelfile/json_keys.h"
#include "simulator/modelfile/layer_families.h"
#include "simulator/modelfile/quantisation.h"

namespace kvplan::model {
namespace {

namespace dom = simdjson::dom;

// Beyond what any model has by orders of magnitude; so small that no product of them overflows 64 bits.
constexpr std::int64_t kMostLayers = 4096;
constexpr std::int64_t kMostHeads = 4096;
constexpr std::int64_t kMostHeadSize = 8192;
constexpr std::int64_t kMostWidth = std::int64_t{1} << 20;
constexpr std::int64_t kMostFeedForward = std::int64_t{1} << 22;
constexpr std::int64_t kMostVocabulary = std::int64_t{1} << 24;
constexpr std::int64_t kMostExperts = std::int64_t{1} << 16;
constexpr std::int64_t kMostWindow = std::int64_t{1} << 40;

/// Parts of a larger model's config that hold the language model's.
constexpr std::array<const char*, 3> kTextParts{"text_config", "llm_config", "language_config"};

/// A key that shows that layers store something other than keys and values of each token.
struct Refusal {
  const char* key;
  const char* what;
};
constexpr std::array<Refusal, 10> kRefusals{{
    {"attention_chunk_size", "attention in chunks"},
    {"layers_block_type", "state-space layers"},
    {"attn_layer_period", "state-space layers"},
    {"hybrid_override_pattern", "state-space layers"},
    {"full_attention_interval", "layers of linear attention"},
    {"linear_attn_config", "layers of linear attention"},
    {"attn_type_list", "layers of linear attention"},
    {"block_configs", "layers of different shapes"},
    {"hybrid_layer_pattern", "layers of different shapes"},
    {"num_kv_shared_layers", "layers that share the cache of other layers"},
}};

using Keys = std::initializer_list<const char*>;

/// One config: the object that describes the language model, and the values read from it.
class Config {
 public:
  Config(dom::object top, dom::object text, std::string part, const std::string& file)
      : top_(top), text_(text), part_(std::move(part)), file_(file) {}

  [[nodiscard]] Error wrong(std::string message, std::string_view key) const {
    return bad_input(std::move(message)).at_file(file_).at_field(part_ + std::string(key));
  }

  /// The first of these synonymous keys that is present and not null.
  [[nodiscard]] const char* present(Keys keys) const {
    for (const char* key : keys) {
      dom::element value;
      if (text_[key].get(value) == simdjson::SUCCESS && !value.is_null()) return key;
    }
    return nullptr;
  }

  /// Absent or null: nothing.
  [[nodiscard]] Result<std::optional<std::int64_t>> maybe(Keys keys, WholeRange range) const {
    const char* key = present(keys);
    if (key == nullptr) return std::optional<std::int64_t>{};
    const dom::element value = text_[key].value_unsafe();
    std::int64_t number = 0;
    if (value.get_int64().get(number) != simdjson::SUCCESS || number < range.low || number > range.high)
      return wrong("expected " + expected_text(range) + ", found " + found(value), key);
    return std::optional<std::int64_t>(number);
  }

  [[nodiscard]] Result<std::int64_t> whole(Keys keys, std::int64_t most) const {
    KVPLAN_TRY(const auto value, maybe(keys, {1, most}));
    if (value) return *value;
    return wrong("expected " + expected_text(WholeRange{1, most}) + ", found nothing", *keys.begin());
  }

  /// Where it may be left out.
  [[nodiscard]] Result<std::int64_t> whole_or(Keys keys, WholeRange range, std::int64_t fallback) const {
    KVPLAN_TRY(const auto value, maybe(keys, range));
    return value.value_or(fallback);
  }

  [[nodiscard]] Result<std::optional<bool>> flag(const char* key, bool in_top = false) const {
    dom::element value;
    if (text_[key].get(value) != simdjson::SUCCESS && (!in_top || top_[key].get(value) != simdjson::SUCCESS))
      return std::optional<bool>{};
    if (value.is_null()) return std::optional<bool>{};
    bool set = false;
    if (value.get_bool().get(set) != simdjson::SUCCESS)
      return wrong("expected true or false, found " + found(value), key);
    return std::optional<bool>(set);
  }

  /// A text; empty if the key is absent.
  [[nodiscard]] std::string text(const char* key) const {
    std::string_view out;
    if (text_[key].get_string().get(out) == simdjson::SUCCESS) return std::string(out);
    return top_[key].get_string().get(out) == simdjson::SUCCESS ? std::string(out) : std::string();
  }
  [[nodiscard]] std::string own_text(const char* key) const {
    std::string_view out;
    return top_["kvplan"][key].get_string().get(out) == simdjson::SUCCESS ? std::string(out) : std::string();
  }

  /// How the checkpoint beside which the config lies is quantised, where it is.
  [[nodiscard]] std::optional<dom::object> quantisation() const {
    for (const dom::object& part : {top_, text_})
      for (const char* key : {"quantization_config", "compression_config"}) {
        dom::object found;
        if (part[key].get_object().get(found) == simdjson::SUCCESS) return found;
      }
    return std::nullopt;
  }

  /// The first attention key that is set (not null, false, 0 or empty) and not understood.
  [[nodiscard]] std::optional<std::string> unknown_attention_key() const {
    for (const auto& [key, value] : text_)
      if (belongs_to_attention(key) && !is_understood(key) &&
          !says_nothing(key, std::string(simdjson::minify(value))))
        return std::string(key);
    return std::nullopt;
  }

  [[nodiscard]] simdjson::simdjson_result<dom::element> at(const char* key) const { return text_[key]; }
  [[nodiscard]] static std::string found(dom::element value) {
    std::string_view text;
    if (value.get_string().get(text) == simdjson::SUCCESS) return "the text " + found_text(text);
    return found_text(simdjson::minify(value));
  }
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  dom::object top_, text_;
  std::string part_;  ///< "text_config." or the like, before keys in errors
  const std::string& file_;
};

/// layer_types: one word a layer.
Result<std::vector<std::int64_t>> typed_windows(const Config& config, std::int64_t layers,
                                                std::optional<std::int64_t> window) {
  constexpr const char* kKey = "layer_types";
  dom::array types;
  if (config.at(kKey).get_array().get(types) != simdjson::SUCCESS ||
      types.size() != static_cast<std::size_t>(layers))
    return config.wrong("expected a list with one text per layer of " + std::to_string(layers) + " layers",
                        kKey);
  std::vector<std::int64_t> out;
  for (const dom::element type : types) {
    std::string_view name;
    const bool text = type.get_string().get(name) == simdjson::SUCCESS;
    if (text && name == "full_attention") {
      out.push_back(0);
    } else if (text && name == "sliding_attention") {
      if (!window)
        return config.wrong("expected a window size for the sliding-window layers, found nothing",
                            "sliding_window");
      out.push_back(*window);
    } else {
      return config.wrong("expected full_attention or sliding_attention, found " + Config::found(type), kKey);
    }
  }
  return out;
}

/// All layers but every `period`th have a window.
std::vector<std::int64_t> patterned(std::int64_t layers, std::int64_t period, std::int64_t window) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < layers; ++i) out.push_back((i + 1) % period == 0 ? 0 : window);
  return out;
}

/// The window of each layer, 0 where it has none.
Result<std::vector<std::int64_t>> read_windows(const Config& config, std::int64_t layers) {
  KVPLAN_TRY(const auto window, config.maybe({"sliding_window"}, {1, kMostWindow}));
  if (config.present({"layer_types"}) != nullptr) return typed_windows(config, layers, window);
  KVPLAN_TRY(const std::optional<bool> used, config.flag("use_sliding_window"));
  std::vector<std::int64_t> out(static_cast<std::size_t>(layers), 0);
  if (!window || used == false) return out;
  if (used == true) {
    KVPLAN_TRY(const std::int64_t first, config.whole_or({"max_window_layers"}, {0, INT32_MAX}, 0));
    for (std::int64_t i = first; i < layers; ++i) out[static_cast<std::size_t>(i)] = *window;
    return out;
  }
  KVPLAN_TRY(const auto period,
             config.maybe({"sliding_window_pattern", "_sliding_window_pattern"}, {1, kMostLayers}));
  if (period) return patterned(layers, *period, *window);
  const std::string type = config.text("model_type");
  if (type == "gemma2" || type == "gpt_oss") return patterned(layers, 2, *window);
  if (type.starts_with("gemma3")) return patterned(layers, 6, *window);
  if (type == "cohere2") return patterned(layers, 4, *window);
  return std::vector<std::int64_t>(static_cast<std::size_t>(layers), *window);
}

/// KV heads where keys and values are kept by head.
Result<std::int64_t> read_kv_heads(const Config& config, std::int64_t query_heads) {
  const WholeRange range{1, query_heads};
  constexpr const char* kKey = "num_key_value_heads";
  KVPLAN_TRY(const auto given, config.maybe({kKey, "num_kv_heads"}, range));
  KVPLAN_TRY(const auto multi_query, config.flag("multi_query"));
  KVPLAN_TRY(const auto grouped, config.flag("new_decoder_architecture"));
  if (multi_query == true && grouped != true) return std::int64_t{1};
  if (given && query_heads % *given != 0)
    return config.wrong("expected a divisor of the " + std::to_string(query_heads) +
                            " query heads as the number of KV heads, found " + std::to_string(*given),
                        config.present({kKey, "num_kv_heads"}));
  return given.value_or(query_heads);
}

/// What a layer keeps; windows apart. Sizes of query heads go into the weights' shape.
Result<LayerCache> read_cache(const Config& config, const ModelShape& shape, WeightShape& weights) {
  LayerCache cache;
  KVPLAN_TRY(const auto rank, config.maybe({"kv_lora_rank"}, {1, kMostFeedForward}));
  if (rank) {
    cache.kind = CacheKind::kLatent;
    cache.latent_size = *rank;
    KVPLAN_TRY(cache.rope_size, config.whole({"qk_rope_head_dim"}, kMostHeadSize));
    KVPLAN_TRY(const auto plain, config.maybe({"qk_nope_head_dim"}, {1, kMostHeadSize}));
    KVPLAN_TRY(const auto value, config.maybe({"v_head_dim"}, {1, kMostHeadSize}));
    KVPLAN_TRY(weights.query_rank, config.whole_or({"q_lora_rank"}, {1, kMostFeedForward}, 0));
    if (plain && value) {
      weights.key_size = *plain + cache.rope_size;
      weights.value_size = *value;
    }
    return cache;
  }
  KVPLAN_TRY(cache.heads, read_kv_heads(config, shape.query_heads));
  KVPLAN_TRY(const auto size,
             config.maybe({"head_dim", "attention_head_dim", "kv_channels"}, {1, kMostHeadSize}));
  if (!size && shape.hidden % shape.query_heads != 0)
    return config.wrong("expected a head size, because " + std::to_string(shape.hidden) +
                            " (hidden_size) is not divisible by " + std::to_string(shape.query_heads) +
                            " heads",
                        "head_dim");
  cache.key_size = cache.value_size = size.value_or(shape.hidden / shape.query_heads);
  if (cache.key_size > kMostHeadSize)
    return config.wrong("expected heads with at most " + std::to_string(kMostHeadSize) + " elements, found " +
                            std::to_string(cache.key_size),
                        "head_dim");
  // 0 in the DeepSeek family where nothing is latent: as wide as keys.
  KVPLAN_TRY(const std::int64_t value, config.whole_or({"v_head_dim"}, {0, kMostHeadSize}, 0));
  if (value > 0) cache.value_size = value;
  weights.key_size = cache.key_size;
  weights.value_size = cache.value_size;
  return cache;
}

/// Which sizes the weights still miss, as a sentence; the caller's cache is complete without them.
Status read_experts(const Config& config, WeightShape& w, std::string& missing) {
  KVPLAN_TRY(w.experts,
             config.whole_or({"n_routed_experts", "num_experts", "num_local_experts"}, {0, kMostExperts}, 0));
  if (w.experts == 0) return Done{};
  KVPLAN_TRY(w.experts_per_token, config.whole_or({"num_experts_per_tok", "moe_topk"}, {1, w.experts}, 0));
  KVPLAN_TRY(w.expert_feed_forward, config.whole_or({"moe_intermediate_size"}, {1, kMostFeedForward}, 0));
  if (w.expert_feed_forward == 0) w.expert_feed_forward = w.feed_forward;
  KVPLAN_TRY(const std::int64_t shared, config.whole_or({"n_shared_experts"}, {0, kMostExperts}, 0));
  KVPLAN_TRY(w.shared_feed_forward, config.whole_or({"shared_expert_intermediate_size"},
                                                    {0, kMostFeedForward}, shared * w.expert_feed_forward));
  KVPLAN_TRY(w.dense_layers, config.whole_or({"first_k_dense_replace"}, {0, kMostLayers}, 0));
  KVPLAN_TRY(const std::int64_t every,
             config.whole_or({"decoder_sparse_step", "moe_layer_freq"}, {1, kMostLayers}, 1));
  dom::array dense;
  const bool listed =
      config.at("mlp_only_layers").get_array().get(dense) == simdjson::SUCCESS && dense.size() > 0;
  if (w.experts_per_token == 0) missing = "num_experts_per_tok is missing";
  if (every != 1 || listed) missing = "kvplan does not read which layers have experts";
  return Done{};
}

/// The names that repositories of this family give to modules of experts.
void name_modules(std::string_view type, ModelWeights& weights) {
  const bool sparse = type.starts_with("minimax") || type == "mixtral";
  const bool qwen = type.starts_with("qwen");
  for (LayerWeights& run : weights.layers)
    for (WeightMatrix& matrix : run.matrices) {
      if (matrix.part == WeightPart::kExperts && sparse) matrix.module = "block_sparse_moe.experts.0.w2";
      if (matrix.part == WeightPart::kShared && sparse)
        matrix.module = "block_sparse_moe.shared_experts.down_proj";
      if (matrix.part == WeightPart::kShared && qwen) matrix.module = "mlp.shared_expert.down_proj";
    }
}

Status read_weights(const Config& config, ModelShape& shape) {
  WeightShape& w = shape.weight_shape;
  KVPLAN_TRY(w.feed_forward,
             config.whole_or({"intermediate_size", "ffn_dim", "n_inner"}, {1, kMostFeedForward}, 0));
  KVPLAN_TRY(w.vocabulary, config.whole_or({"vocab_size"}, {1, kMostVocabulary}, 0));
  KVPLAN_TRY(const auto tied, config.flag("tie_word_embeddings", true));
  const std::string type = config.text("model_type");
  w.tied = tied.value_or(type.starts_with("gemma"));
  // Two matrices, not three: blocks without a gate.
  for (const char* plain :
       {"opt", "gpt2", "gpt_bigcode", "gpt_neox", "falcon", "phi", "starcoder2", "nemotron"})
    if (type == plain) w.matrices = 2;
  KVPLAN_TRY_DO(read_experts(config, w, shape.weights_miss));
  w.dense_layers = std::min(w.dense_layers, shape.layers);
  const bool any_dense = w.experts == 0 || w.dense_layers > 0;
  if ((any_dense && w.feed_forward == 0) || (w.experts > 0 && w.expert_feed_forward == 0))
    shape.weights_miss = "intermediate_size is missing";
  if (w.vocabulary == 0) shape.weights_miss = "vocab_size is missing";
  if (w.key_size == 0) shape.weights_miss = "qk_nope_head_dim or v_head_dim is missing";
  return Done{};
}

/// Matrices in the bits of the checkpoint, where it is quantised.
void read_precision(const Config& config, ModelShape& shape) {
  const auto quantised = config.quantisation();
  if (!quantised || !shape.weights_miss.empty()) return;
  Quantisation quantisation = Quantisation::read(*quantised, shape.weights_miss);
  if (config.text("expert_dtype").ends_with("4"))
    quantisation.store_experts({(std::int64_t{4} << 16) + (1 << 14), 8});
  ModelWeights weights = plain_weights(shape);
  name_modules(config.text("model_type"), weights);
  quantisation.apply(weights);
  shape.matrices = std::move(weights);
}

/// A family with different layers, in a file without the keys that say which.
Status refuse_silent_family(const Config& config) {
  const std::string type = config.text("model_type");
  const LayerFamily* const family = find_layer_family(type);
  if (family == nullptr) return Done{};
  for (const char* key : family->keys)
    if (config.present({key}) != nullptr) return Done{};
  std::string text = "expected keys and values for each token in each layer; models of the family \"" + type +
                     "\" have " + std::string(family->what);
  if (!family->keys.empty())
    text.append(", and the file does not say which layers (").append(family->keys[0]).append(")");
  return config.wrong(std::move(text), "model_type");
}

Status refuse_other_caches(const Config& config) {
  for (const Refusal& refusal : kRefusals) {
    std::int64_t number = -1;
    const bool zero = config.at(refusal.key).get_int64().get(number) == simdjson::SUCCESS && number == 0;
    if (config.present({refusal.key}) != nullptr && !zero)
      return config.wrong(
          std::string("expected keys and values for each token in each layer, found ") + refusal.what,
          refusal.key);
  }
  for (const auto& [key, what] : {std::pair{"is_encoder_decoder", "an encoder with its own cache"},
                                  std::pair{"use_cla", "layers that share the cache of other layers"}}) {
    KVPLAN_TRY(const auto set, config.flag(key, true));
    if (set == true)
      return config.wrong(std::string("expected keys and values for each token in each layer, found ") + what,
                          key);
  }
  const auto unknown = config.unknown_attention_key();
  if (unknown)
    return config.wrong(
        "expected only keys that kvplan knows, found another key about attention: the KV cache may depend on "
        "it",
        *unknown);
  return refuse_silent_family(config);
}

/// Broken JSON in kvplan's words, where the library's do not name an expectation.
std::string problem(simdjson::error_code error) {
  if (error == simdjson::EMPTY) return "expected a JSON object, found nothing";
  if (error == simdjson::UTF8_ERROR) return "expected UTF-8";
  if (error == simdjson::DEPTH_ERROR) return "expected less deeply nested { and [";
  return std::string("expected a model config in JSON: ") + simdjson::error_message(error);
}

Result<ModelShape> read(const Config& config) {
  KVPLAN_TRY_DO(refuse_other_caches(config));
  ModelShape shape;
  shape.name = config.own_text("name");
  shape.source = config.own_text("source");
  if (shape.name.empty()) shape.name = config.file();
  if (shape.source.empty()) shape.source = config.file();
  KVPLAN_TRY(shape.layers, config.whole({"num_hidden_layers", "n_layer"}, kMostLayers));
  KVPLAN_TRY(shape.hidden, config.whole({"hidden_size", "n_embd"}, kMostWidth));
  KVPLAN_TRY(shape.query_heads, config.whole({"num_attention_heads", "n_head"}, kMostHeads));
  KVPLAN_TRY(LayerCache cache, read_cache(config, shape, shape.weight_shape));
  shape.kv_heads = cache.kind == CacheKind::kHeads ? cache.heads : 1;
  KVPLAN_TRY(const std::vector<std::int64_t> windows, read_windows(config, shape.layers));
  for (const std::int64_t window : windows) {
    cache.window = window;
    if (shape.runs.empty() || shape.runs.back().cache != cache) shape.runs.push_back({0, cache});
    ++shape.runs.back().layers;
  }
  KVPLAN_TRY_DO(read_weights(config, shape));
  read_precision(config, shape);
  if (const char* indexed = config.present({"index_head_dim", "sparse_attention_config"}); indexed != nullptr)
    shape.notes.emplace_back("The indexer keys of its sparse attention (" + std::string(indexed) +
                             ") are not counted.");
  return shape;
}

/// Python's names of numbers that JSON has not, as a number beyond all limits, so that a key that is read says so.
std::string with_plain_numbers(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    const auto name = [&](std::string_view word) { return !quoted && text.substr(i, word.size()) == word; };
    if (name("Infinity") || name("NaN")) {
      out += "1e300";
      i += name("NaN") ? 2 : 7;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Result<ModelShape> parse_config(std::string_view text, const std::string& file) {
  if (text.size() > kMostConfigBytes) return bad_input("expected a config of at most 16 MiB").at_file(file);
  dom::parser parser;
  const std::string plain = with_plain_numbers(without_byte_order_mark(text));
  const simdjson::padded_string padded(plain);
  dom::element document;
  if (const auto error = parser.parse(padded).get(document)) return bad_input(problem(error)).at_file(file);
  if (const auto twice = key_given_twice(document))
    return bad_input("expected each key once, found it twice").at_file(file).at_field(*twice);
  dom::object top;
  if (document.get_object().get(top) != simdjson::SUCCESS)
    return bad_input("expected a JSON object with a model config").at_file(file);
  for (const char* part : kTextParts) {
    dom::object inner;
    if (top[part].get_object().get(inner) == simdjson::SUCCESS)
      return read(Config(top, inner, std::string(part) + ".", file));
  }
  return read(Config(top, top, {}, file));
}

}  // namespace kvplan::model
