// Layers with a state instead of keys and values of each token: bytes of the state of one sequence, and weights.
//
// A state has a part for a convolution over the last tokens, in the model's elements, and a recurrent part, which may
// have elements of four bytes. Shapes: vllm-project/vllm v0.15.1, vllm/model_executor/layers/mamba/mamba_utils.py.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/model/model_shape.h"
#include "simulator/modelfile/config_object.h"

namespace kvplan::model {

struct StateLayer {
  std::int64_t bytes{0};
  std::int64_t whole_bytes{0};  ///< the part of `bytes` that each tensor-parallel rank has whole
  std::vector<WeightMatrix> matrices{};
};

/// Mamba 2 (`ssm_state_size` or `mamba_d_state`, with heads), Mamba (without), gated delta net
/// (`linear_num_key_heads`), KDA (`linear_attn_config`), lightning attention (`attn_type_list`), short convolutions
/// (`conv_L_cache`). Errors: no such keys, with `key` as field; sizes that are missing.
Result<StateLayer> read_state(const Config& config, const ModelShape& shape, std::int64_t head_size,
                              const char* key);

}  // namespace kvplan::model
