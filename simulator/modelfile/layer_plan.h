// The properties of each layer of a config: what it keeps of a sequence, and its matrices.
//
// Full attention is the default. Layers differ if the config lists them: layer_types, layers_block_type,
// hybrid_override_pattern, hybrid_layer_pattern, attn_type_list, block_configs, compress_ratios, no_rope_layers,
// full_attention_interval, attn_layer_period, attn_layer_indices, linear_attn_config; or by rules of the family
// (config.h).
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/model/model_shape.h"
#include "simulator/modelfile/config_object.h"

namespace kvplan::model {

enum class FeedForward : std::uint8_t { kNone, kDense, kExperts };

struct LayerPlan {
  LayerCache cache{};
  std::vector<WeightMatrix> mixing{};  ///< of attention, or of the mechanism in its place
  FeedForward feed_forward{FeedForward::kDense};
  bool apart{false};      ///< the layer is only attention, or only a feed-forward block
  bool both{false};       ///< attention in addition to `mixing`
  bool shares{false};     ///< attention that reads the cache of another layer
  LayerCache own{};       ///< with `shares`: what the layer would keep otherwise
  std::int64_t width{0};  ///< of its dense block; 0: the same as WeightShape::feed_forward
};

/// Plans all layers, and sets the shape's heads. read_weights (layer_weights.h) adds the feed-forward blocks.
Result<std::vector<LayerPlan>> plan_layers(const Config& config, ModelShape& shape);

}  // namespace kvplan::model
