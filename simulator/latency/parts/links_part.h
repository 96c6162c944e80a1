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
// All data are half precision. Collectives are rings over the widest routes (topology/collectives.h), at a share of the
// links' rates, each with a start time. Not modelled: faster methods of engines within a node for small messages
// (one-shot all-reduce, multicast in the switch), and interference between replicas on one node.
#pragma once

#include <string>

#include "simulator/base/result.h"
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
  /// Errors: the device lacks a figure that several ranks need; durations beyond a minute.
  static Result<LinksPart> make(const StepShape& shape, const LinkRates& rates);

  [[nodiscard]] Wide ticks(std::int64_t tokens, std::int64_t requests) const {
    return fixed_ + token_.times(tokens) + request_.times(requests);
  }
  /// Text: what connects the ranks of a stage, and the rate that each gets; empty for one rank.
  [[nodiscard]] const std::string& within_stage() const { return within_stage_; }
  /// The same for neighbouring stages; empty for one stage.
  [[nodiscard]] const std::string& between_stages() const { return between_stages_; }

 private:
  std::int64_t fixed_{0};
  FineTicks token_, request_;
  std::string within_stage_, between_stages_;
};

}  // namespace kvplan::latency
