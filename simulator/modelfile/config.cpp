#include "simulator/modelfile/config.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <utility>

#include "simulator/base/number_input.h"
#include "simulator/base/utf8.h"
#include "simulator/modelfile/config_object.h"
#include "simulator/modelfile/json_keys.h"
#include "simulator/modelfile/layer_families.h"
#include "simulator/modelfile/layer_plan.h"
#include "simulator/modelfile/layer_weights.h"
#include "simulator/modelfile/positions.h"

namespace kvplan::model {
namespace {

namespace dom = simdjson::dom;

/// Parts of a larger model's config that hold the language model's.
constexpr std::array<const char*, 3> kTextParts{"text_config", "llm_config", "language_config"};

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

/// Caches that kvplan does not model, and keys of attention that it does not understand.
Status refuse_other_caches(const Config& config) {
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
  return Done{};
}

/// Broken JSON in kvplan's words, where the library's do not name an expectation.
std::string problem(simdjson::error_code error) {
  if (error == simdjson::EMPTY) return "expected a JSON object, found nothing";
  if (error == simdjson::UTF8_ERROR) return "expected UTF-8";
  if (error == simdjson::DEPTH_ERROR) return "expected less deeply nested { and [";
  return std::string("expected a model config in JSON: ") + simdjson::error_message(error);
}

/// A name that says that weights are quantised, in a repository that does not say how.
void note_name(const Config& config, ModelShape& shape) {
  if (config.quantisation() != nullptr) return;
  std::string name = shape.name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const char* word :
       {"fp8", "nvfp4", "mxfp4", "int4", "int8", "awq", "gptq", "w8a8", "w4a16", "4bit", "8bit"}) {
    if (name.find(word) == std::string::npos) continue;
    shape.notes.push_back("The weights count 16 bits each: the name has \"" + std::string(word) +
                          "\", but neither the config nor a " + std::string(kQuantisationFile) +
                          " beside it says how they are quantised (deployment.weight_bits).");
    return;
  }
}

/// What readers of the answer have to know of layers that do not keep keys and values of each token.
void note_layers(const Config& config, ModelShape& shape) {
  bool compressed = false, indexed = false;
  for (const LayerRun& run : shape.runs) {
    compressed = compressed || run.cache.compress_ratio > 0;
    indexed = indexed || (run.cache.indexer_bytes > 0 && run.cache.kind == CacheKind::kLatent);
  }
  if (compressed) shape.runs_miss = "layers with compressed caches";
  if (indexed)
    shape.notes.emplace_back(
        "Keys of its indexer count in each format. With an FP8 cache vLLM stores its vectors as fp8_ds_mla.");
  const auto* const quantised = config.quantisation();
  dom::object scheme;
  if (quantised != nullptr && (*quantised)["kv_cache_scheme"].get_object().get(scheme) == simdjson::SUCCESS)
    shape.notes.emplace_back(
        "Its checkpoint asks for an FP8 cache (kv_cache_scheme): format=fp8 counts the bytes of that.");
}

Result<ModelShape> read(const Config& config) {
  KVPLAN_TRY_DO(refuse_silent_family(config));
  ModelShape shape;
  shape.name = config.own_text("name");
  shape.source = config.own_text("source");
  if (shape.name.empty()) shape.name = config.file();
  if (shape.source.empty()) shape.source = config.file();
  KVPLAN_TRY(shape.layers, config.whole({"num_hidden_layers", "n_layer"}, kMostLayers));
  KVPLAN_TRY(shape.hidden, config.whole({"hidden_size", "n_embd"}, kMostWidth));
  KVPLAN_TRY(shape.query_heads, config.whole({"num_attention_heads", "n_head"}, kMostHeads));
  KVPLAN_TRY_DO(read_positions(config, shape));
  // Of bundled models; tables of positions, which the other keys ask for, are not in their counts.
  std::int64_t positions = 0;
  if (config.top()["kvplan"]["max_positions"].get_int64().get(positions) == simdjson::SUCCESS) {
    shape.max_positions = positions;
    shape.scaled_positions.reset();
  }
  KVPLAN_TRY(std::vector<LayerPlan> layers, plan_layers(config, shape));
  KVPLAN_TRY_DO(refuse_other_caches(config));
  for (const LayerPlan& layer : layers) {
    if (shape.runs.empty() || shape.runs.back().cache != layer.cache) shape.runs.push_back({0, layer.cache});
    ++shape.runs.back().layers;
  }
  KVPLAN_TRY_DO(read_weights(config, layers, shape));
  note_layers(config, shape);
  note_name(config, shape);
  return shape;
}

}  // namespace

Result<ModelShape> parse_config(std::string_view text, const std::string& file,
                                std::string_view quantisation) {
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
  dom::parser other;
  const simdjson::padded_string padded_other(with_plain_numbers(without_byte_order_mark(quantisation)));
  dom::object beside;
  if (!quantisation.empty() && other.parse(padded_other).get_object().get(beside) != simdjson::SUCCESS)
    return bad_input("expected a JSON object beside it in " + std::string(kQuantisationFile)).at_file(file);
  const dom::object* const also = quantisation.empty() ? nullptr : &beside;
  for (const char* part : kTextParts) {
    dom::object inner;
    if (top[part].get_object().get(inner) == simdjson::SUCCESS)
      return read(Config(top, inner, std::string(part) + ".", file, also));
  }
  return read(Config(top, top, {}, file, also));
}

}  // namespace kvplan::model
