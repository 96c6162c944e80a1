// What each layer of a config is: what it keeps of a sequence, and its matrices.
//
// Full attention is the rule. Layers differ where the config lists them: layer_types, layers_block_type,
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
  std::vector<WeightMatrix> mixing{};  ///< of attention, or of what stands in its place
  FeedForward feed_forward{FeedForward::kDense};
  bool apart{false};      ///< the layer is attention alone, or a feed-forward block alone
  bool both{false};       ///< attention beside `mixing`
  bool shares{false};     ///< attention on the cache of another layer
  LayerCache own{};       ///< with `shares`: what it would keep
  std::int64_t width{0};  ///< of its dense block; 0: as WeightShape::feed_forward
};

/// All layers; without their feed-forward blocks, but for layers that have none. Sets what the shape says of heads.
Result<std::vector<LayerPlan>> plan_layers(const Config& config, ModelShape& shape);

}  // namespace kvplan::model
