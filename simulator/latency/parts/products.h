// The matrix products of a step on one rank, by shape and format, as engines run them: one product for queries, keys
// and values, one for gate and up projections (vllm-project/vllm v0.15.1, model_executor/models/llama.py); of latent
// attention the down-projections together, and the up-projections of keys and values as one product
// (model_executor/models/deepseek_v2.py). Embeddings are looked up and take no product.
//
// Formats are those in which the checkpoint stores weights and multiplies them (simulator/model/weights.h). Weights of
// 4 bits with 4-bit activations are NVFP4 on devices that multiply it (Blackwell), and INT4 with 16-bit activations on
// others; MXFP4 has MXFP8 activations on Blackwell, as recipes ask for, else 16-bit ones. With deployment.weight_bits
// or weights_bytes, they are those of the usual checkpoints of such a size:
//
//   16  bfloat16
//   8   fp8; fp8_block in models with experts, which are published so (DeepSeek, Qwen3, MiniMax); int8_wo (16-bit
//       activations) on devices without fp8 products
//   4   as published if that has experts of 4 bits (gpt-oss, Kimi-K2); else NVFP4 or INT4
//
// The output layer and routers then stay in bfloat16.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulator/latency/parts/step_shape.h"

namespace kvplan::latency {

struct Product {
  std::string dtype;  ///< as in the tables of kernels
  std::int64_t n{0}, k{0};
  std::int64_t layers{0};  ///< so often in a step
};

/// The experts of a layer, gate, up and down projection together.
struct ExpertProducts {
  std::string dtype;
  std::int64_t hidden{0}, width{0}, chosen{0}, experts{0};
  std::int64_t tensor_ranks{1};
  std::int64_t layers{0};  ///< 0: none
};

struct StepProducts {
  std::vector<Product> each_token;
  Product output;  ///< for one token of each request
  ExpertProducts experts;
};

/// REQUIRES: the model's weights can be counted.
StepProducts products_of(const StepShape& shape);

}  // namespace kvplan::latency
