// Numbers of weights from a config: sizes of feed-forward blocks, which layers have experts, and all matrices.
#pragma once

#include <vector>

#include "simulator/base/result.h"
#include "simulator/model/model_shape.h"
#include "simulator/modelfile/config_object.h"
#include "simulator/modelfile/layer_plan.h"

namespace kvplan::model {

/// Sets ModelShape::weight_shape, matrices and weights_miss, and adds notes about what is not counted. Errors: numbers
/// out of their ranges.
Status read_weights(const Config& config, std::vector<LayerPlan>& layers, ModelShape& shape);

}  // namespace kvplan::model
