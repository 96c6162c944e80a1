// Settings of vLLM's scheduler, with its defaults (vllm-project/vllm v0.15.1: vllm/config/scheduler.py). The names on
// the right are vLLM's; the command line and scenarios use the members' names.
#pragma once

#include <cstdint>

namespace kvplan::scheduling::vllm {

struct Params {
  std::int64_t token_budget{8192};         ///< max_num_batched_tokens, >= 1
  std::int64_t max_seqs{256};              ///< max_num_seqs, >= 1
  std::int64_t long_prefill_threshold{0};  ///< long_prefill_token_threshold; 0 = off
  /// Requests with more tokens, prompt plus output, are rejected on arrival
  std::int64_t max_model_len{262144};
  bool by_priority{false};  ///< scheduling_policy is "priority", not "fcfs"
};

}  // namespace kvplan::scheduling::vllm
