// In how many bits a checkpoint stores each matrix, from the `quantization_config` of its config.json.
//
// Forms that are read: `quant_method` fp8 (blocks or not), mxfp4, gptq, awq, bitsandbytes, modelopt, compressed-tensors
// and their relatives; `config_groups` with targets; `quant_algo`, also as `quantization.quant_algo`;
// `quantized_layers` with an algorithm by module. Modules that are left out: ignore, ignored_layers,
// modules_to_not_convert, exclude_modules, llm_int8_skip_modules, as names, parts of names, wildcards and "re:"
// patterns. Scales and zero points count with the weights that share them; those of whole rows and whole tensors, fewer
// than one bit in 500, do not. The embedding, norms and routers stay in 16 bits, and so does the output layer unless it
// is named (vllm-project/vllm v0.15.1, vllm/model_executor/layers/quantization).
#pragma once

#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/model/weights.h"

namespace simdjson::dom {
class object;
}

namespace kvplan::model {

/// Names of modules, as configs list them.
class ModulePatterns {
 public:
  void add(std::string_view pattern);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// `module` as "layers.3.self_attn.q_proj" or "lm_head".
  [[nodiscard]] bool match(std::string_view module) const;

 private:
  std::size_t count_{0};
  std::unordered_set<std::string> names_;  ///< of modules in layers
  std::vector<std::string> parts_;         ///< names without a layer number
  std::vector<std::string> wildcards_;
  std::vector<std::regex> expressions_;
};

class Quantisation {
 public:
  /// Reads a `quantization_config`. `missing` says which part of it is not understood, if any.
  static Quantisation read(const simdjson::dom::object& config, std::string& missing);

  /// Sets the precision of all matrices.
  void apply(ModelWeights& weights) const;
  /// Sets the precision of experts to `expert_dtype`, which the model's config has outside of `quantization_config`.
  void store_experts(Precision precision) { experts_ = precision; }

 private:
  struct Group {
    Precision precision;
    ModulePatterns targets;  ///< empty: every linear layer
  };
  void read_groups(const simdjson::dom::object& config, std::string& missing);
  void read_layers(const simdjson::dom::object& config, std::string& missing);
  void read_method(const simdjson::dom::object& config, std::string_view method, std::string& missing);
  [[nodiscard]] Precision of(std::string_view module, WeightPart part) const;
  void apply(std::string_view layer, WeightMatrix& matrix) const;

  std::optional<Precision> all_;  ///< of every linear layer
  std::optional<Precision> experts_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, Precision> layers_;  ///< by module
  ModulePatterns ignored_;
  bool only_experts_{false};
  bool pads_experts_{false};
  bool output_too_{false};
};

}  // namespace kvplan::model
