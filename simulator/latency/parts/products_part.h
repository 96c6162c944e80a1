// How long the matrix products of a step take on one rank, all layers one after the other: each by its shape and format
// from the nearest measured table (simulator/kernels/kind_curve.h).
//
//   weights  products of every token, and the output layer for one token of each request
//   experts  the experts of a layer, by the tokens of the step; tables were measured with tokens that favour some
//            experts (a power law), as real routers do
//
// Steps with few tokens run in CUDA graphs, which engines record for some sizes only: products are then those of the
// next size (vllm-project/vllm v0.15.1, vllm/config/vllm.py: 1, 2, 4, multiples of 8 to 256, of 16 to 512).
#pragma once

#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/kernels/kind_curve.h"
#include "simulator/latency/parts/counted_ticks.h"
#include "simulator/latency/parts/products.h"

namespace kvplan::latency {

/// Tokens of a step with padding: the least size of a graph that holds them.
std::int64_t padded_tokens(std::int64_t tokens);

class ProductsPart {
 public:
  /// `wish.device` must be one that lives as long as the part. Errors: the model's weights cannot be counted;
  /// durations beyond a minute.
  static Result<ProductsPart> make(const StepShape& shape, const kernels::CurveWish& wish);

  [[nodiscard]] Wide weight_ticks(std::int64_t tokens, std::int64_t requests) const {
    return Wide{weights_(tokens)} + output_(requests);
  }
  [[nodiscard]] std::int64_t expert_ticks(std::int64_t tokens) const { return experts_(tokens); }

  /// Where the times of products come from, and those of experts (empty origin without experts): the least certain.
  [[nodiscard]] const kernels::CurveOrigin& weights_origin() const { return weights_origin_; }
  [[nodiscard]] const kernels::CurveOrigin& experts_origin() const { return experts_origin_; }

 private:
  CountedTicks weights_, output_, experts_;
  kernels::CurveOrigin weights_origin_, experts_origin_;
};

}  // namespace kvplan::latency
