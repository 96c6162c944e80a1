// How long the matrix products of a step take: for each group of weights the longer of reading them once and of
// multiplying with them, on one rank, all stages one after the other.
//
//   layers    projections of attention, dense feed-forward, shared experts, router: every token, 2 FLOPs per weight
//   experts   each token is multiplied with the weights of its experts. Of a layer's E experts, a step of T tokens
//             with k experts each reads E x (1 - (1 - k/E)^T) on average, if tokens choose uniformly and
//             independently (assumed)
//   output    the last layer, once for each request: an engine computes the logits of one token each
//             (vllm-project/vllm v0.15.1, vllm/v1/worker/gpu_model_runner.py, logits_indices)
//
// Computing is in half precision, whatever the bits of the weights. Waves of tiles, and sizes that kernels round up to,
// are not modelled.
#pragma once

#include "simulator/base/result.h"
#include "simulator/latency/parts/step_shape.h"

namespace kvplan::latency {

/// Shares of the device's peaks that matrix products reach.
struct ProductRates {
  double compute_efficiency{1}, memory_efficiency{1};
};

class WeightsPart {
 public:
  /// Errors: the model's weights cannot be counted; durations beyond 2^46 ticks.
  static Result<WeightsPart> make(const StepShape& shape, const ProductRates& rates);

  [[nodiscard]] Wide ticks(std::int64_t tokens, std::int64_t requests) const {
    return dense_ticks(tokens, requests) + expert_ticks(tokens);
  }
  /// Layers and output.
  [[nodiscard]] Wide dense_ticks(std::int64_t tokens, std::int64_t requests) const;
  [[nodiscard]] Wide expert_ticks(std::int64_t tokens) const;
  /// Time of reading the weights alone.
  [[nodiscard]] Wide read_ticks(std::int64_t tokens) const;
  /// Mean number of a layer's experts that are read; 0 without experts.
  [[nodiscard]] double distinct_experts(std::int64_t tokens) const;

 private:
  struct Group {
    std::int64_t read{0};  ///< ticks
    FineTicks compute;     ///< time for each token, or request
  };
  [[nodiscard]] std::int64_t expert_read(std::int64_t tokens) const;

  Group layers_, experts_, output_;
  std::int64_t experts_of_layer_{0}, experts_per_token_{0};
};

}  // namespace kvplan::latency
