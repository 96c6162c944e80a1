// KV bytes of one sequence: by layer, on each rank, and on all ranks of a deployment together. How layers and heads
// are divided: ranks.h.
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

/// What a layer, or a rank's share of it, takes of a sequence.
struct HeldBytes {
  std::int64_t tokens{0};
  std::int64_t bytes{0};
  std::int64_t metadata_bytes{0};  ///< a part of `bytes`
};

struct FootprintRequest {
  std::optional<KvFormat> format{};  ///< absent: the model's own elements
  std::int64_t tensor_ranks{1};
  std::int64_t stages{1};
  std::int64_t tokens{0};              ///< of the sequence
  std::optional<std::int64_t> kept{};  ///< at most so many of them, by what a token policy keeps
  // What that policy keeps beside each token, as metadata:
  std::int64_t beside_head_bytes{0};   ///< by KV head of a layer
  std::int64_t beside_layer_bytes{0};  ///< by layer

  /// Where tokens of a layer take different bytes: what layer i of the model takes, in place of `format`, `kept` and
  /// `beside_...`. Bytes of a token are 0 then.
  std::function<Result<HeldBytes>(const LayerCache&, std::int64_t)> held{};
};

/// A layer on one rank.
struct LayerFootprint {
  LayerCache cache;                    ///< what the rank has of it
  std::int64_t bytes_per_token{0};     ///< scales included
  std::int64_t metadata_per_token{0};  ///< of it, scales and zero points
  std::int64_t tokens{0};              ///< held: the sequence's, its window's, or those that are kept
  std::int64_t bytes{0};
  std::int64_t metadata_bytes{0};  ///< scales, zero points and what a policy keeps: a part of `bytes`
};

/// A pipeline stage, on one of its ranks (they are alike).
struct StageFootprint {
  std::int64_t first_layer{0}, layers{0};
  std::int64_t bytes_per_token{0};     ///< of a token that all its layers hold
  std::int64_t metadata_per_token{0};  ///< of it, scales and zero points
  std::int64_t bytes{0};
  std::int64_t metadata_bytes{0};
};

struct Footprint {
  std::vector<LayerFootprint> layers;  ///< all of the model
  std::vector<StageFootprint> stages;
  std::size_t fullest{0};  ///< the first stage with most bytes: how much fits is decided there
  std::int64_t cluster_bytes_per_token{0};
  std::int64_t once_bytes_per_token{0};  ///< of all layers, each head stored once
  std::int64_t cluster_bytes{0};
  std::int64_t replicated_bytes{0};  ///< of cluster_bytes, what is stored again
  std::vector<std::string> warnings;
};

/// Errors: more stages than layers, a format for other layers, more bytes than 2^62, those of `held`.
Result<Footprint> footprint(const ModelShape& shape, const FootprintRequest& request);

}  // namespace kvplan::model
