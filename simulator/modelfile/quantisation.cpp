#include "simulator/modelfile/quantisation.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "simulator/base/number_input.h"

namespace kvplan::model {
namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t kFine = std::int64_t{1} << 16;  // 2^-16 bits of a bit
constexpr std::int64_t kHalf = 16;

/// `bits` a weight, and `scale_bits` for each group of weights; group 0: none worth counting.
Precision precision(std::int64_t bits, std::int64_t scale_bits, std::int64_t group,
                    std::int64_t activations) {
  return {bits * kFine + (group > 0 ? scale_bits * kFine / group : 0), activations};
}

struct Algorithm {
  std::string_view name;
  Precision precision;
};
// NVIDIA/Model-Optimizer, modelopt/torch/export (quant_algo); the scales of FP4 are one byte for 16 (NVFP4) or 32
// weights (MXFP4), those of MXFP8 one for 32.
const std::array<Algorithm, 12>& algorithms() {
  static const std::array<Algorithm, 12> kAll{{
      {"FP8", precision(8, 0, 0, 8)},
      {"FP8_PER_CHANNEL_PER_TOKEN", precision(8, 0, 0, 8)},
      {"FP8_PB_WO", precision(8, 32, std::int64_t{128} * 128, 8)},
      {"MXFP8", precision(8, 8, 32, 8)},
      {"NVFP4", precision(4, 8, 16, 4)},
      {"W4A16_NVFP4", precision(4, 8, 16, kHalf)},
      {"NVFP4_AWQ", precision(4, 8, 16, 4)},
      {"MXFP4", precision(4, 8, 32, kHalf)},
      {"W4A8_MXFP4_FP8", precision(4, 8, 32, 8)},
      {"W8A16", precision(8, 0, 0, kHalf)},
      {"W8A8_SQ_PER_CHANNEL", precision(8, 0, 0, 8)},
      {"INT8_SQ", precision(8, 0, 0, 8)},
  }};
  return kAll;
}

std::string text_of(const dom::object& object, std::string_view key) {
  std::string_view out;
  return object[key].get_string().get(out) == simdjson::SUCCESS ? std::string(out) : std::string();
}

std::optional<std::int64_t> whole_of(const dom::object& object, std::string_view key) {
  std::int64_t out = 0;
  return object[key].get_int64().get(out) == simdjson::SUCCESS ? std::optional(out) : std::nullopt;
}

std::optional<bool> flag_of(const dom::object& object, std::string_view key) {
  bool out = false;
  return object[key].get_bool().get(out) == simdjson::SUCCESS ? std::optional(out) : std::nullopt;
}

bool sensible_bits(std::int64_t bits) {
  return bits >= 1 && bits <= 64;
}

std::optional<Precision> precision_of_algorithm(const std::string& name, const dom::object& object) {
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.name == name) return algorithm.precision;
  const std::int64_t group = whole_of(object, "group_size").value_or(128);
  if (name == "W4A16_AWQ" || name == "INT4_AWQ" || name == "W4A16") return precision(4, 16, group, kHalf);
  if (name == "W4A8_AWQ" || name == "W4A8") return precision(4, 16, group, 8);
  return std::nullopt;
}

/// A scheme of compressed-tensors: weights and what they are multiplied with.
std::optional<Precision> precision_of_group(const dom::object& group) {
  dom::object weights;
  if (group["weights"].get_object().get(weights) != simdjson::SUCCESS) return std::nullopt;
  const auto bits = whole_of(weights, "num_bits");
  if (!bits || !sensible_bits(*bits)) return std::nullopt;
  std::int64_t activations = kHalf;
  dom::object inputs;
  if (group["input_activations"].get_object().get(inputs) == simdjson::SUCCESS)
    activations = whole_of(inputs, "num_bits").value_or(kHalf);
  const std::int64_t size = std::max<std::int64_t>(whole_of(weights, "group_size").value_or(0), 0);
  constexpr std::int64_t kNarrow = 4, kMx = 32;
  if (text_of(weights, "type") == "float" && *bits <= kNarrow) return precision(*bits, 8, size, activations);
  if (text_of(weights, "type") == "float") return precision(*bits, size == kMx ? 8 : 32, size, activations);
  std::int64_t beside = 16;  // of a group: its scale, and its zero point where values are not symmetric
  if (flag_of(weights, "symmetric") == false) beside += *bits;
  dom::array block;
  if (text_of(weights, "strategy") == "block" &&
      weights["block_structure"].get_array().get(block) == simdjson::SUCCESS)
    return precision(*bits, 0, 0, activations);
  return precision(*bits, beside, size, activations);
}

/// Bits of the data types that quark names: fp8_e4m3, int8, uint4, ...
std::optional<std::int64_t> bits_of_type(const std::string& type) {
  const std::size_t digit = type.find_first_of("0123456789");
  if (digit == std::string::npos || digit == 0) return std::nullopt;
  const std::int64_t bits = type[digit] - '0';
  return bits == 4 || bits == 8 ? std::optional(bits) : std::nullopt;
}

/// AMD Quark: one scheme for all layers, with scales of one byte in groups of small floats.
std::optional<Precision> precision_of_quark(const dom::object& config) {
  dom::object all, weight, input;
  if (config["global_quant_config"].get_object().get(all) != simdjson::SUCCESS ||
      all["weight"].get_object().get(weight) != simdjson::SUCCESS)
    return std::nullopt;
  const std::string type = text_of(weight, "dtype");
  const auto bits = bits_of_type(type);
  if (!bits) return std::nullopt;
  std::int64_t activations = kHalf;
  if (all["input_tensors"].get_object().get(input) == simdjson::SUCCESS)
    activations = bits_of_type(text_of(input, "dtype")).value_or(kHalf);
  const std::int64_t group = std::max<std::int64_t>(whole_of(weight, "group_size").value_or(0), 0);
  return precision(*bits, type.starts_with("fp") && *bits == 4 ? 8 : 16, group, activations);
}

/// Without what repositories put before the names of layers.
std::string_view without_prefix(std::string_view name) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view prefix :
         {"language_model.", "model.", "text_model.", "transformer.", "backbone."}) {
      if (!name.starts_with(prefix)) continue;
      name.remove_prefix(prefix.size());
      again = true;
    }
  }
  return name;
}

/// True where `*` in the pattern stands for any text; behind a digit it does not stand for further digits, so that
/// "layers.1*" is not layer 10.
bool wildcard_matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() != '*')
    return !text.empty() && pattern.front() == text.front() &&
           (pattern.size() < 2 || pattern[1] != '*' || text.size() < 2 || text.front() < '0' ||
            text.front() > '9' || text[1] < '0' || text[1] > '9') &&
           wildcard_matches(pattern.substr(1), text.substr(1));
  for (std::size_t skip = 0; skip <= text.size(); ++skip)
    if (wildcard_matches(pattern.substr(1), text.substr(skip))) return true;
  return false;
}

/// Calls `is` with the name and with all that it lies in, "layers.3.mlp" of "layers.3.mlp.down_proj".
template <class Is>
bool any_prefix(std::string_view module, Is is) {
  for (std::string_view name = module;; name = name.substr(0, name.rfind('.'))) {
    if (is(name)) return true;
    if (name.rfind('.') == std::string_view::npos) return false;
  }
}

}  // namespace

void ModulePatterns::add(std::string_view pattern) {
  constexpr std::size_t kMostPattern = 512;
  if (pattern.empty() || pattern.size() > kMostPattern) return;
  if (pattern.starts_with("re:")) {
    try {
      expressions_.emplace_back(std::string(pattern.substr(3)));
    } catch (const std::regex_error&) {
      return;  // not an expression: it matches nothing
    }
    ++count_;
    return;
  }
  ++count_;
  const std::string_view name = without_prefix(pattern);
  if (name.find('*') != std::string_view::npos) {
    wildcards_.emplace_back(name);
  } else if (name.starts_with("layers.")) {
    names_.emplace(name);
  } else {
    parts_.emplace_back(name);
  }
}

bool ModulePatterns::match(std::string_view module) const {
  if (any_prefix(module, [&](std::string_view name) { return names_.contains(std::string(name)); }))
    return true;
  const std::string dotted = "." + std::string(module) + ".";
  for (const std::string& part : parts_)
    if (dotted.find("." + part + ".") != std::string::npos) return true;
  for (const std::string& wildcard : wildcards_)
    if (any_prefix(module, [&](std::string_view name) { return wildcard_matches(wildcard, name); }))
      return true;
  const std::string whole = "model." + std::string(module);
  return std::any_of(expressions_.begin(), expressions_.end(), [&](const std::regex& expression) {
    return std::regex_search(whole, expression, std::regex_constants::match_continuous);
  });
}

void Quantisation::read_groups(const dom::object& config, std::string& missing) {
  dom::object groups;
  if (config["config_groups"].get_object().get(groups) != simdjson::SUCCESS) return;
  for (const auto& [name, value] : groups) {
    dom::object group;
    std::optional<Precision> found;
    if (value.get_object().get(group) == simdjson::SUCCESS) found = precision_of_group(group);
    if (!found) {
      missing = "kvplan does not read quantization_config.config_groups." + std::string(name);
      continue;
    }
    Group out{*found, {}};
    dom::array targets;
    if (group["targets"].get_array().get(targets) == simdjson::SUCCESS)
      for (const dom::element target : targets) {
        std::string_view text;
        // The name of a class: every linear layer.
        if (target.get_string().get(text) == simdjson::SUCCESS && text != "Linear" && text != "FusedMoE")
          out.targets.add(text);
      }
    if (out.targets.match("lm_head")) output_too_ = true;
    groups_.push_back(std::move(out));
  }
}

void Quantisation::read_layers(const dom::object& config, std::string& missing) {
  dom::object layers;
  if (config["quantized_layers"].get_object().get(layers) != simdjson::SUCCESS) return;
  for (const auto& [name, value] : layers) {
    dom::object layer;
    std::optional<Precision> found;
    if (value.get_object().get(layer) == simdjson::SUCCESS)
      found = precision_of_algorithm(text_of(layer, "quant_algo"), layer);
    if (found) {
      layers_.emplace(without_prefix(name), *found);
    } else {
      missing = "kvplan does not read quantization_config.quantized_layers." + std::string(name);
    }
  }
  if (layers_.contains("lm_head")) output_too_ = true;
}

void Quantisation::read_method(const dom::object& config, std::string_view method, std::string& missing) {
  const auto bits = whole_of(config, "bits");
  const std::int64_t group = std::max<std::int64_t>(whole_of(config, "group_size").value_or(128), 0);
  if (method == "fp8" || method == "fbgemm_fp8" || method == "finegrained_fp8" || method == "ptpc_fp8") {
    dom::array block;
    const bool blocks =
        config["weight_block_size"].get_array().get(block) == simdjson::SUCCESS && block.size() == 2;
    constexpr std::int64_t kBlock = std::int64_t{128} * 128;
    all_ = precision(8, 32, blocks ? kBlock : 0, 8);
  } else if (method == "mxfp4") {
    all_ = precision(4, 8, 32, kHalf);
    only_experts_ = pads_experts_ = true;
  } else if (method == "nvfp4") {
    all_ = precision(4, 8, 16, 4);
  } else if (method == "bitsandbytes") {
    // Blocks of 64 with a scale of four bytes, or of one byte where scales are quantised again.
    const bool twice = flag_of(config, "bnb_4bit_use_double_quant").value_or(false);
    const bool eight = flag_of(config, "load_in_8bit").value_or(false);
    all_ = eight ? precision(8, 0, 0, 8) : precision(4, twice ? 8 : 32, 64, kHalf);
  } else if ((method == "gptq" || method == "awq" || method == "gptq_marlin" || method == "awq_marlin" ||
              method == "auto-round" || method == "hqq" || method == "gguf" || method.empty()) &&
             bits && sensible_bits(*bits)) {
    all_ = precision(*bits, 16 + *bits, group, kHalf);
    output_too_ = flag_of(config, "lm_head").value_or(false);
  } else if (method == "quark") {
    all_ = precision_of_quark(config);
    if (!all_) missing = "kvplan does not read quantization_config.global_quant_config of quark";
  } else if (method == "eetq" || method == "experts_int8") {
    all_ = precision(8, 0, 0, kHalf);
    only_experts_ = method == "experts_int8";
  } else {
    missing = "kvplan does not read quantization_config with quant_method " + found_text(method);
  }
}

Quantisation Quantisation::read(const dom::object& config, std::string& missing) {
  Quantisation out;
  dom::object inner;
  const bool nested = config["quantization"].get_object().get(inner) == simdjson::SUCCESS;
  const dom::object& at = nested ? inner : config;
  for (const char* key : {"ignore", "ignored_layers", "modules_to_not_convert", "exclude_modules",
                          "llm_int8_skip_modules", "exclude"}) {
    dom::array names;
    if (at[key].get_array().get(names) != simdjson::SUCCESS) continue;
    for (const dom::element each : names) {
      std::string_view name;
      if (each.get_string().get(name) == simdjson::SUCCESS) out.ignored_.add(name);
    }
  }
  const std::string method = text_of(config, "quant_method"), algorithm = text_of(at, "quant_algo");
  out.read_layers(at, missing);
  out.read_groups(at, missing);
  const bool by_layer = !out.layers_.empty();
  if (by_layer || !out.groups_.empty()) {
    if (by_layer) out.groups_.clear();
    // An fp8 checkpoint in which experts alone have other bits.
    if (by_layer && method == "fp8") {
      out.read_method(config, method, missing);
      out.ignored_ = {};
      out.ignored_.add("lm_head");
    }
    return out;
  }
  if (!algorithm.empty()) {
    out.all_ = precision_of_algorithm(algorithm, at);
    if (!out.all_)
      missing = "kvplan does not read quantization_config with quant_algo " + found_text(algorithm);
    return out;
  }
  if (nested && method.empty()) return out;  // the cache alone is quantised
  out.read_method(at, method, missing);
  return out;
}

Precision Quantisation::of(std::string_view module, WeightPart part) const {
  if (!layers_.empty()) {
    std::optional<Precision> found;
    any_prefix(module, [&](std::string_view name) {
      const auto layer = layers_.find(std::string(name));
      if (layer != layers_.end()) found = layer->second;
      return found.has_value();
    });
    if (found) return *found;
  }
  if (part == WeightPart::kOutput && !output_too_) return {};
  if (part == WeightPart::kExperts && experts_) return *experts_;
  if (only_experts_ && part != WeightPart::kExperts) return {};
  // A group that names the module counts even where a wider pattern leaves it out.
  for (const Group& group : groups_)
    if (!group.targets.empty() && group.targets.match(module)) return group.precision;
  if (ignored_.match(module)) return {};
  for (const Group& group : groups_)
    if (group.targets.empty()) return group.precision;
  return all_.value_or(Precision{});
}

void Quantisation::apply(std::string_view layer, WeightMatrix& matrix) const {
  if (matrix.module.empty()) return;
  matrix.precision = of(std::string(layer).append(matrix.module), matrix.part);
  if (!pads_experts_ || matrix.part != WeightPart::kExperts || matrix.precision == Precision{}) return;
  // Kernels of mxfp4 experts take rows of a multiple of 256, and 128 of the width (vllm-project/vllm,
  // vllm/model_executor/layers/quantization/mxfp4.py).
  constexpr std::int64_t kRow = 256, kWidth = 128;
  matrix.padded_units = kWidth;
  matrix.padded_unit_weights = ceil_div(matrix.row, kRow) * kRow * (matrix.unit_weights / matrix.row);
}

void Quantisation::apply(ModelWeights& weights) const {
  std::vector<LayerWeights> out;
  std::int64_t number = 0;
  for (const LayerWeights& run : weights.layers)
    for (std::int64_t i = 0; i < run.layers; ++i) {
      std::vector<WeightMatrix> matrices = run.matrices;
      const std::string layer = "layers." + std::to_string(number++) + ".";
      for (WeightMatrix& matrix : matrices) apply(layer, matrix);
      if (out.empty() || out.back().matrices != matrices) out.push_back({.matrices = std::move(matrices)});
      ++out.back().layers;
    }
  weights.layers = std::move(out);
  for (WeightMatrix& matrix : weights.last) apply("", matrix);
}

}  // namespace kvplan::model
