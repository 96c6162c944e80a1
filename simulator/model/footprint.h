// KV bytes of one sequence: by layer, on each rank, and over all ranks of a deployment. ranks.h says how layers and
// heads are divided.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/base/result.h"
#include "simulator/model/kv_format.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {

inline constexpr std::int64_t kMostRanks = 65536;

/// The bytes that a layer, or a rank's share of it, stores of a sequence.
struct HeldBytes {
  std::int64_t tokens{0};
  std::int64_t bytes{0};
  std::int64_t metadata_bytes{0};  ///< a part of `bytes`
};

struct FootprintRequest {
  std::optional<KvFormat> format{};  ///< absent: the model's own elements
  std::int64_t tensor_ranks{1};
  std::int64_t stages{1};
  std::vector<std::int64_t> stage_layers{};  ///< of each stage; empty: as vLLM divides them
  std::int64_t tokens{0};                    ///< tokens of the sequence
  std::optional<std::int64_t> kept{};        ///< most tokens that a token policy keeps
  // Metadata of that policy, for each token:
  std::int64_t beside_head_bytes{0};   ///< for each KV head of a layer
  std::int64_t beside_layer_bytes{0};  ///< for each layer

  /// For tokens of different sizes: the bytes that layer i of the model stores, used instead of `format`, `kept` and
  /// `beside_...`. The bytes per token in the result are 0 then.
  std::function<Result<HeldBytes>(const LayerCache&, std::int64_t)> held{};
};

/// A layer on one rank.
struct LayerFootprint {
  LayerCache cache;                    ///< the rank's share of the layer
  std::int64_t bytes_per_token{0};     ///< scales included
  std::int64_t metadata_per_token{0};  ///< part of it: scales and zero points
  std::int64_t tokens{0};              ///< held tokens: the sequence's, its window's, or those that are kept
  std::int64_t bytes{0};
  std::int64_t metadata_bytes{0};  ///< part of `bytes`: scales, zero points and a policy's metadata
  std::int64_t fixed_bytes{0};     ///< part of `bytes` that does not grow with tokens: a state
};

/// A pipeline stage, on one of its ranks (all are equal).
struct StageFootprint {
  std::int64_t first_layer{0}, layers{0};
  std::int64_t bytes_per_token{0};     ///< bytes of a token, in all its layers
  std::int64_t metadata_per_token{0};  ///< part of it: scales and zero points
  std::int64_t bytes{0};
  std::int64_t metadata_bytes{0};
};

struct Footprint {
  std::vector<LayerFootprint> layers;  ///< all layers of the model
  std::vector<StageFootprint> stages;
  std::size_t fullest{0};  ///< the first stage with the most bytes: it limits how much fits
  std::int64_t cluster_bytes_per_token{0};
  std::int64_t once_bytes_per_token{0};  ///< bytes of all layers, with each head stored once
  std::int64_t cluster_bytes{0};
  std::int64_t replicated_bytes{0};  ///< part of cluster_bytes: heads that are stored more than once
  std::vector<std::string> warnings;
};

/// Errors: more stages than layers, a format for other layers, more than 2^62 bytes, those of `held`.
Result<Footprint> footprint(const ModelShape& shape, const FootprintRequest& request);

}  // namespace kvplan::model
