// Engines with measured kernels, as the column `engine` of kernel tables writes them (data/, README.md).
#pragma once

#include <array>
#include <string_view>

namespace kvplan::kernels {

inline constexpr std::array<std::string_view, 3> kMeasuredEngines{"vllm", "sglang", "trtllm"};

/// Its all-reduce within a node, in a CUDA graph, as the column `kernel_source` has it.
constexpr std::string_view reduce_kernel(std::string_view engine) {
  if (engine == "sglang") return "SGLang_CustomAllReduce_graph";
  return engine == "trtllm" ? "TRTLLM" : "vLLM_custom_graph";
}

/// What a request takes in its server before the engine has it, in ns: fitted on one half of the deployments of
/// simulator/docs/step_times.md. SGLang passes requests through processes that poll.
constexpr std::string_view request_ns(std::string_view engine) {
  return engine == "sglang" ? "220e6" : "40e6";
}

}  // namespace kvplan::kernels
