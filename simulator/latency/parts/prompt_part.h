// How long the attention of prompts takes on one rank, in layers with keys and values by head: from measured times of
// whole prompts (simulator/kernels, prefill-attention), F(n) for n tokens.
//
// Of a step the tokens T beyond one for each request and the query-key pairs P beyond one for each token that is read
// are known, not the lengths of its prompts. They are taken as
//
//   P/T < T/2   whole prompts of 2 P/T tokens each, so many as make T tokens:  F(n) each, one start
//   else        one chunk of T tokens after p = P/T - T/2 others:               F(p + T) - F(p), and one start
//
// Layers with a window use the tables of the window, or of all tokens if there is none.
#pragma once

#include <vector>

#include "simulator/core/latency.h"
#include "simulator/kernels/kind_curve.h"
#include "simulator/latency/parts/step_shape.h"

namespace kvplan::latency {

class PromptPart {
 public:
  PromptPart() = default;
  /// `wish.device` must be one that lives as long as the part. Empty if the model's layers do not store heads.
  static PromptPart make(const StepShape& shape, const kernels::CurveWish& wish);

  [[nodiscard]] bool empty() const { return layers_.empty(); }
  [[nodiscard]] Wide ticks(const core::StepLoad& load) const;
  [[nodiscard]] const kernels::CurveOrigin& origin() const { return layers_.front().curve.origin(); }

 private:
  struct Layers {
    kernels::KindCurve curve;
    double factor;  ///< number of layers, times the size of their heads over that of the table
    double start_us;
  };
  std::vector<Layers> layers_;
};

}  // namespace kvplan::latency
