// Flags of `python -m sglang.launch_server` (sgl-project/sglang v0.5.5: python/sglang/srt/server_args.py).
#include <array>

#include "simulator/scheduling/sglang/parts.h"

namespace kvplan::scheduling::sglang {
namespace {

constexpr std::array<FlagValue, 3> kCacheTypes{
    {{"auto", "native"}, {"fp8_e4m3", "fp8"}, {"fp8_e5m2", "fp8"}}};

/// Bits of a weight in a checkpoint of each kind; fp8 also quantises one that is not.
constexpr std::array<FlagValue, 6> kQuantizations{{{"fp8", "8"},
                                                   {"w8a8_fp8", "8"},
                                                   {"w8a8_int8", "8"},
                                                   {"awq", "4"},
                                                   {"gptq", "4"},
                                                   {"bitsandbytes", "4"}}};

constexpr std::array<FlagValue, 1> kNoChunks{{{"-1", "0"}}};

constexpr std::array kFlags{
    ServerFlag{.flag = "--model-path", .path = "model", .alias = "--model"},
    ServerFlag{.flag = "--schedule-policy", .path = "engine.policy", .fallback = "fcfs"},
    ServerFlag{.flag = "--max-running-requests",
               .path = "engine.max_running_requests",
               .fallback_note = "as many as the pool and the model's length allow"},
    ServerFlag{.flag = "--max-prefill-tokens", .path = "engine.max_prefill_tokens", .fallback = "16384"},
    ServerFlag{.flag = "--chunked-prefill-size",
               .path = "engine.chunked_prefill_size",
               .fallback_note = "2048 to 16384 by the device's memory, 8192 with 80 GB",
               .values = kNoChunks},
    ServerFlag{.flag = "--context-length",
               .path = "engine.context_length",
               .fallback_note = "the model's own length"},
    ServerFlag{
        .flag = "--schedule-conservativeness", .path = "engine.schedule_conservativeness", .fallback = "1.0"},
    ServerFlag{.flag = "--disable-radix-cache", .path = "engine.prefix_cache", .sets = "false"},
    ServerFlag{.flag = "--mem-fraction-static",
               .path = "deployment.pool_rule.mem_fraction_static",
               .fallback_note = "by the device's memory and the limits of a step"},
    ServerFlag{
        .flag = "--tensor-parallel-size", .path = "deployment.tp", .fallback = "1", .alias = "--tp-size"},
    ServerFlag{
        .flag = "--pipeline-parallel-size", .path = "deployment.pp", .fallback = "1", .alias = "--pp-size"},
    ServerFlag{
        .flag = "--data-parallel-size", .path = "fleet.replicas", .fallback = "1", .alias = "--dp-size"},
    ServerFlag{.flag = "--page-size", .path = "memory.allocator.block_tokens", .fallback = "1"},
    ServerFlag{.flag = "--max-total-tokens",
               .path = "memory.pool_tokens",
               .fallback_note = "what the device's memory holds"},
    ServerFlag{.flag = "--kv-cache-dtype", .path = "format", .fallback = "auto", .values = kCacheTypes},
    ServerFlag{.flag = "--quantization",
               .path = "deployment.weight_bits",
               .fallback_note = "what the checkpoint says",
               .values = kQuantizations},
    ServerFlag{.flag = "--disable-cuda-graph", .path = "deployment.graph_bytes", .sets = "0"},
};

}  // namespace

std::span<const ServerFlag> server_flags() {
  return kFlags;
}

}  // namespace kvplan::scheduling::sglang
