// Flags of `vllm serve` (vllm-project/vllm v0.15.1: vllm/engine/arg_utils.py, EngineArgs.add_cli_args; defaults that
// depend on the device: EngineArgs.get_batch_defaults).
#include <array>

#include "simulator/scheduling/vllm/parts.h"

namespace kvplan::scheduling::vllm {
namespace {

constexpr std::array<FlagValue, 4> kCacheTypes{
    {{"auto", "native"}, {"fp8", "fp8"}, {"fp8_e4m3", "fp8"}, {"fp8_e5m2", "fp8"}}};

/// Bits of a weight in a checkpoint of each kind; fp8 also quantises one that is not.
constexpr std::array<FlagValue, 6> kQuantizations{{{"fp8", "8"},
                                                   {"awq", "4"},
                                                   {"gptq", "4"},
                                                   {"awq_marlin", "4"},
                                                   {"gptq_marlin", "4"},
                                                   {"bitsandbytes", "4"}}};

constexpr std::array kFlags{
    ServerFlag{.flag = "--model", .path = "model", .fallback_note = "the first argument without a flag"},
    ServerFlag{.flag = "--max-num-batched-tokens",
               .path = "engine.token_budget",
               .fallback = "2048",
               .fallback_note = "8192 on devices of at least 70 GiB other than the A100",
               .large_fallback = "8192"},
    ServerFlag{.flag = "--max-num-seqs",
               .path = "engine.max_seqs",
               .fallback = "256",
               .fallback_note = "1024 on devices of at least 70 GiB other than the A100",
               .large_fallback = "1024"},
    ServerFlag{
        .flag = "--long-prefill-token-threshold", .path = "engine.long_prefill_threshold", .fallback = "0"},
    ServerFlag{
        .flag = "--max-model-len", .path = "engine.max_model_len", .fallback_note = "the model's own length"},
    ServerFlag{.flag = "--scheduling-policy", .path = "engine.policy", .fallback = "fcfs"},
    ServerFlag{
        .flag = "--enable-prefix-caching", .path = "engine.prefix_cache", .fallback = "true", .sets = "true"},
    ServerFlag{.flag = "--no-enable-prefix-caching", .path = "engine.prefix_cache", .sets = "false"},
    ServerFlag{.flag = "--gpu-memory-utilization",
               .path = "deployment.pool_rule.memory_utilization",
               .fallback = "0.9"},
    ServerFlag{.flag = "--tensor-parallel-size", .path = "deployment.tp", .fallback = "1", .alias = "-tp"},
    ServerFlag{.flag = "--pipeline-parallel-size", .path = "deployment.pp", .fallback = "1", .alias = "-pp"},
    ServerFlag{.flag = "--data-parallel-size", .path = "fleet.replicas", .fallback = "1", .alias = "-dp"},
    ServerFlag{.flag = "--block-size", .path = "memory.allocator.block_tokens", .fallback = "16"},
    ServerFlag{.flag = "--num-gpu-blocks-override",
               .path = "memory.pool_blocks",
               .fallback_note = "what the device's memory holds"},
    ServerFlag{.flag = "--kv-cache-memory-bytes",
               .path = "memory.pool_bytes",
               .fallback_note = "what the device's memory holds"},
    ServerFlag{.flag = "--kv-cache-dtype", .path = "format", .fallback = "auto", .values = kCacheTypes},
    ServerFlag{.flag = "--quantization",
               .path = "deployment.weight_bits",
               .fallback_note = "what the checkpoint says",
               .alias = "-q",
               .values = kQuantizations},
    ServerFlag{.flag = "--enforce-eager", .path = "deployment.graph_bytes", .sets = "0"},
};

}  // namespace

std::span<const ServerFlag> server_flags() {
  return kFlags;
}

}  // namespace kvplan::scheduling::vllm
