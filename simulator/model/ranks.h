// How a model is divided among ranks: which layers a pipeline stage has, which share of a layer's heads, and how many
// weights.
//
// Tensor parallelism: a rank stores max(1, floor(heads / ranks)) KV heads of a layer, so that fewer heads than ranks
// are stored more than once; a latent vector is whole on every rank (vllm-project/vllm v0.15.1, vllm/config/model.py,
// get_num_kv_heads). Of weights each rank has a share of query heads, feed-forward blocks (those of experts too), and
// vocabulary, rounded up; norms, the router and the down-projections of latent attention are whole on each.
// Pipeline parallelism: a stage has layers / stages layers in a row; what is left over goes, one each, to the last
// stages but the very last (vllm/distributed/utils.py, get_pp_indices). The first stage has the input embedding, the
// last one the output layer.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {

/// What one of `tensor_ranks` ranks stores of a layer.
LayerCache share_of(LayerCache cache, std::int64_t tensor_ranks);

/// Layers of each stage. REQUIRES: 1 <= stages <= layers.
std::vector<std::int64_t> layers_of_stages(std::int64_t layers, std::int64_t stages);

/// Weights on one rank of each stage (its ranks are alike). With one rank and one stage these are shape.weights().
/// REQUIRES: 1 <= stages <= layers, tensor_ranks >= 1. Errors: as shape.weights().
Result<std::vector<WeightCounts>> weights_of_stages(const ModelShape& shape, std::int64_t tensor_ranks,
                                                    std::int64_t stages);

}  // namespace kvplan::model
