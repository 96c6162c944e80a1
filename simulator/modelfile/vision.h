// The weights of the image tower of a multimodal model.
#pragma once

#include "simulator/model/model_shape.h"
#include "simulator/modelfile/config_object.h"

namespace kvplan::model {

/// Counts the tower of `vision_config`, or notes that it is not counted. Patches, positions and blocks are counted.
/// Projections into the language model are counted for the families gemma3, mistral3, qwen3_vl, qwen3_5 and kimi_k25.
void add_vision(const Config& config, ModelShape& shape);

}  // namespace kvplan::model
