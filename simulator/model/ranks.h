// How a model is divided among ranks: the layers of a pipeline stage, a rank's share of a layer's heads, and its
// weights.
//
// Tensor parallelism: a rank stores max(1, floor(heads / ranks)) KV heads of a layer, so with fewer heads than
// ranks heads are stored more than once; a latent vector is complete on every rank (vllm-project/vllm v0.15.1,
// vllm/config/model.py, get_num_kv_heads). Of weights (weights.h), each rank has a share of query heads, feed-
// forward blocks (those of experts too), and vocabulary, rounded up; norms, the router and the down-projections of
// latent attention are complete on each. Pipeline parallelism: a stage has layers / stages consecutive layers; of the
// remaining layers, one each goes to the last stages before the very last in vLLM (vllm/distributed/utils.py,
// get_pp_indices), and to the last stages in SGLang (sgl-project/sglang 1107be1, srt/distributed/utils.py). Users may
// say the layers of each stage instead. The first stage has the input embedding, the last one the output layer.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {

/// The part of a layer that one of `tensor_ranks` ranks stores.
LayerCache share_of(LayerCache cache, std::int64_t tensor_ranks);

/// Bytes of the states of a sequence on one of `tensor_ranks` ranks, in all stages together.
std::int64_t state_bytes_of(const ModelShape& shape, std::int64_t tensor_ranks);

/// True if an engine would start so. Query heads are divided evenly; KV heads too, or each lies on several ranks
/// (vllm-project/vllm v0.15.1, vllm/config/model.py, verify_with_parallel_config; vllm/model_executor/models/llama.py).
bool divides_heads(const ModelShape& shape, std::int64_t tensor_ranks);
/// Layers of each stage, where they are given; empty: as vLLM divides them.
using StageLayers = std::vector<std::int64_t>;

/// Errors, at deployment.tp, deployment.pp and deployment.pp_layers: ranks for which divides_heads() is false, more
/// stages than layers, other layers than the model's.
Status check_ranks(const ModelShape& shape, std::int64_t tensor_ranks, std::int64_t stages,
                   const StageLayers& given = {});

/// Layers of each stage. REQUIRES: 1 <= stages <= layers; `given` has as many stages and layers, if any.
StageLayers layers_of_stages(std::int64_t layers, std::int64_t stages, const StageLayers& given = {});
/// The same in SGLang.
StageLayers last_stages_longer(std::int64_t layers, std::int64_t stages);

/// Weights on one rank of each stage (its ranks are equal). With one rank and one stage these are shape.weights().
/// REQUIRES: 1 <= stages <= layers, tensor_ranks >= 1. Errors: as shape.weights().
Result<std::vector<WeightCounts>> weights_of_stages(const ModelShape& shape, std::int64_t tensor_ranks,
                                                    std::int64_t stages);

}  // namespace kvplan::model
