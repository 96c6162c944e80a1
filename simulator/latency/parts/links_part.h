// What ranks send each other in a step, over the links of their nodes (simulator/topology). Ranks of a stage are
// neighbours, stages follow one another, node by node.
//
//   within a stage   two all-reduces of each layer, one after attention and one after feed-forward, and one of the
//                    embedding, of tokens x hidden size; an all-gather of the logits, requests x vocabulary
//                    (Megatron-LM, arXiv 1909.08053, section 3; vllm-project/vllm v0.15.1, vocab_parallel_embedding.py,
//                    logits_processor.py)
//   between stages   hidden states and residuals of all tokens: each rank sends its share to the rank with its
//                    number in the next stage, all at the same time, and these gather the whole
//                    (vllm/distributed/parallel_state.py, send_tensor_dict with all_gather_group)
//
// All data are half precision. All-reduces within a node take measured times of the engine's own method, in a CUDA
// graph (simulator/kernels, all-reduce), if there are tables. All other collectives are rings over the widest routes
// (topology/collectives.h), at a share of the links' rates, each with a start time. Not modelled: interference between
// replicas on one node, and sums that are fused with the norm after them.
#pragma once

#include <string>

#include "simulator/base/result.h"
#include "simulator/kernels/kind_curve.h"
#include "simulator/latency/parts/counted_ticks.h"
#include "simulator/latency/parts/step_shape.h"

namespace kvplan::latency {

struct LinkRates {
  double efficiency{1};     ///< share of a link's bytes/s that transfers reach
  double collective_ns{0};  ///< start time of each transfer or collective, beside its rounds
  std::int64_t node_devices{8};
  std::int64_t network_bytes_per_s{0};
};

class LinksPart {
 public:
  /// `measured`: where to look for all-reduces; null: they are rings. Its device must live as long as the part.
  /// Errors: the device lacks a figure that several ranks need; durations beyond a minute.
  static Result<LinksPart> make(const StepShape& shape, const LinkRates& rates,
                                const kernels::CurveWish* measured = nullptr);

  [[nodiscard]] Wide ticks(std::int64_t tokens, std::int64_t requests) const {
    return fixed_ + token_.times(tokens) + request_.times(requests) + reduced_(tokens);
  }
  /// Where the times of all-reduces come from; empty engine: they are rings.
  [[nodiscard]] const kernels::CurveOrigin& reduce_origin() const { return reduce_origin_; }
  /// Text: what connects the ranks of a stage, and the rate that each gets; empty for one rank.
  [[nodiscard]] const std::string& within_stage() const { return within_stage_; }
  /// The same for neighbouring stages; empty for one stage.
  [[nodiscard]] const std::string& between_stages() const { return between_stages_; }

 private:
  /// Of `count` all-reduces; notes their origin.
  CountedTicks reduce_times(const StepShape& shape, const kernels::CurveWish& wish, std::int64_t count);

  std::int64_t fixed_{0};
  FineTicks token_, request_;
  CountedTicks reduced_;
  kernels::CurveOrigin reduce_origin_;
  std::string within_stage_, between_stages_;
};

}  // namespace kvplan::latency
