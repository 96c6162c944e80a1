// The paths of a scenario: the meaning of each, and its allowed values.
#include <array>

#include "simulator/model/footprint.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::runs {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 62;

/// An amount of a rank's memory that the user knows; the upper limit is more than any device has.
constexpr Field known_bytes(std::string_view path, std::string_view help) {
  return {.path = path,
          .help = help,
          .kind = FieldKind::kInteger,
          .unit = Unit::kBytes,
          .low = 0,
          .high = std::int64_t{1} << 50};
}

constexpr std::array<Field, 45> kFields{{
    {.path = "workload.trace", .help = "Trace file: a .kvt or any importable file"},
    {.path = "workload.format", .help = "Format of the trace file. Default: its content decides"},
    {.path = "workload.map",
     .help = "Columns of a trace file in any other table format: "
             "arrival=COLUMN[:s|ms|us|ns|iso],input=COLUMN,output=COLUMN[,...]. Times without a unit are "
             "seconds"},
    {.path = "workload.block_tokens",
     .help = "Tokens per prefix id (block hash) of the trace file, for formats that do not state it",
     .kind = FieldKind::kInteger,
     .unit = Unit::kTokens,
     .low = 1,
     .high = std::int64_t{1} << 20},
    {.path = "workload.rate_scale",
     .help = "Factor on the arrival rate (p/q or decimal)",
     .kind = FieldKind::kFraction,
     .unit = Unit::kRatio,
     .fallback = "1"},
    {.path = "workload.sessions",
     .help =
         "When later turns of sessions arrive; or load-test: clients send the requests, each when it is free",
     .kind = FieldKind::kComponent,
     .fallback = "stated",
     .family = "sessions"},
    {.path = "workload.answers",
     .help =
         "Whether the next prompt of a session holds the answer before it, so that the prefix cache has it",
     .kind = FieldKind::kComponent,
     .fallback = "auto",
     .family = "answers"},
    {.path = "workload.limit",
     .help = "Serve only the first n requests",
     .kind = FieldKind::kInteger,
     .unit = Unit::kRequests,
     .low = 0,
     .high = kMost},
    {.path = "workload.attention",
     .help = "Attention recordings FILE[,FILE...] (.kva); FILE@N is only sequence N of the file. If the "
             "policy needs attention, request i uses recording i mod n, with n recordings"},
    {.path = "workload.extrapolation",
     .help = "How recordings of another shape than the model's are used",
     .kind = FieldKind::kComponent,
     .fallback = "none",
     .family = "extrapolation"},
    {.path = "model",
     .help =
         "Name of the served model, or path of a Hugging Face config.json; \"recording\" takes the shape of "
         "workload.attention",
     .fallback = "llama-3-8b"},
    {.path = "seed",
     .help = "Seed of the run; no part of a run draws from it yet, components have their own seeds",
     .kind = FieldKind::kInteger,
     .fallback = "0",
     .low = 0,
     .high = INT64_MAX},
    {.path = "format",
     .help = "Format of the KV cache: bytes per element (family format), or a codec; none means native (the "
             "model's element size)",
     .kind = FieldKind::kComponent,
     .fallback = "native",
     .family = "format",
     .none = "native"},
    {.path = "window_format",
     .help = "Format of the sliding-window layers; none: the format of the other layers",
     .kind = FieldKind::kComponent,
     .fallback = "none",
     .family = kWindowFormatFamily},
    {.path = "deployment.device",
     .help =
         "Device of every rank: a name (kvplan list device), a file, or its figures such as "
         "total_bytes=25250627584,bandwidth=1008e9,bf16_flops=165e12. Its memory determines the pool if no "
         "pool size is given, and its bandwidth and FLOP/s determine the roofline"},
    {.path = "deployment.tp",
     .help = "Tensor-parallel ranks; each has a share of the heads",
     .kind = FieldKind::kInteger,
     .fallback = "1",
     .low = 1,
     .high = model::kMostRanks},
    {.path = "deployment.pp",
     .help = "Pipeline stages; each has some of the layers",
     .kind = FieldKind::kInteger,
     .fallback = "1",
     .low = 1,
     .high = 4096},
    {.path = "deployment.pool_rule",
     .help = "How the engine computes the size of the KV-cache pool from the device's memory; default: the "
             "rule of the scenario's engine",
     .kind = FieldKind::kComponent,
     .fallback = "vllm-v1",
     .family = "pool-rule"},
    {.path = "deployment.weight_bits",
     .help = "Bits of every weight, whole or a fraction such as 4.25; default: as the checkpoint stores each "
             "part "
             "(quantization_config of its config.json), else 16",
     .kind = FieldKind::kFraction,
     .high = 64},
    known_bytes("deployment.weights_bytes",
                "Weight bytes of a rank as loaded; default: the model's parameters times their bits"),
    known_bytes("deployment.activation_bytes",
                "Peak activation bytes of the engine in a step; default: estimated from the step's limits"),
    known_bytes(
        "deployment.workspace_bytes",
        "Bytes that libraries allocate while the engine loads and profiles; default: 128 MiB (assumed)"),
    known_bytes(
        "deployment.context_bytes",
        "Bytes in use before loading, by the device context and communication; default: 512 MiB (assumed)"),
    known_bytes("deployment.graph_bytes",
                "Bytes of CUDA graphs, captured after the pool is allocated; default: 512 MiB (assumed)"),
    {.path = "deployment.pp_layers",
     .help = "Layers of each pipeline stage, such as 24,40 (VLLM_PP_LAYER_PARTITION, "
             "SGLANG_PP_LAYER_PARTITION); default: as the engine divides them"},
    {.path = "memory.pool_bytes",
     .help = "Size of the KV-cache pool of one replica in bytes; the default is what an 80 GB device has "
             "free beside an 8 B model",
     .kind = FieldKind::kInteger,
     .unit = Unit::kBytes,
     .fallback = "51539607552",
     .low = 1,
     .high = kMost},
    {.path = "memory.pool_tokens",
     .help = "Size of the KV-cache pool in tokens",
     .kind = FieldKind::kInteger,
     .unit = Unit::kTokens,
     .low = 1,
     .high = kMost},
    {.path = "memory.pool_blocks",
     .help = "Size of the KV-cache pool in blocks, including the null block (num_gpu_blocks)",
     .kind = FieldKind::kInteger,
     .unit = Unit::kBlocks,
     .low = 1,
     .high = kMost},
    {.path = "memory.allocator",
     .help = "How KV-cache memory is allocated",
     .kind = FieldKind::kComponent,
     .fallback = "paged",
     .family = "allocator"},
    {.path = "memory.replacement",
     .help = "Which cached block is evicted; ignored, with a warning, without prefix caching",
     .kind = FieldKind::kComponent,
     .fallback = "vllm-queue",
     .family = "replacement"},
    {.path = "engine",
     .help = "Engine (scheduler) and its limits",
     .kind = FieldKind::kComponent,
     .fallback = "vllm-v1",
     .family = "engine"},
    {.path = "latency",
     .help =
         "How long a step takes; default: composed if deployment.device has measured attention for the model",
     .kind = FieldKind::kComponent,
     .fallback = "roofline",
     .family = "latency"},
    {.path = "fleet.replicas",
     .help = "Replicas that share the requests",
     .kind = FieldKind::kInteger,
     .fallback = "1",
     .low = 1,
     .high = 4096},
    {.path = "fleet.router",
     .help = "Which replica serves a request",
     .kind = FieldKind::kComponent,
     .fallback = "round-robin",
     .family = "router"},
    {.path = "eviction",
     .help = "Which tokens stay in the cache; none means full",
     .kind = FieldKind::kComponent,
     .fallback = "full",
     .family = "eviction",
     .none = "full"},
    {.path = "budget",
     .help = "How many tokens each layer or head keeps, instead of the policy's own number; none: the "
             "policy's number",
     .kind = FieldKind::kComponent,
     .fallback = "none",
     .family = "budget"},
    {.path = "reader",
     .help = "Sparse attention: which part of a full cache decode steps read; full reads all of it",
     .kind = FieldKind::kComponent,
     .fallback = "full",
     .family = "reader"},
    {.path = "targets.ttft_s",
     .help = "Target: longest allowed time to first token (TTFT)",
     .kind = FieldKind::kSeconds,
     .unit = Unit::kSeconds},
    {.path = "targets.tpot_s",
     .help = "Target: longest allowed time per output token (TPOT)",
     .kind = FieldKind::kSeconds,
     .unit = Unit::kSeconds},
    {.path = "targets.e2e_s",
     .help = "Target: longest allowed time to the last token",
     .kind = FieldKind::kSeconds,
     .unit = Unit::kSeconds},
    {.path = "targets.fraction",
     .help = "Share of the arrived requests that must meet all targets",
     .kind = FieldKind::kFraction,
     .unit = Unit::kRatio,
     .fallback = "0.99",
     .high = 1},
    {.path = "targets.percentiles_s",
     .help = "Percentile targets, checked separately: LATENCY.pN=SECONDS separated by commas, such as "
             "ttft.p99=2,tpot.p50=0.05 (ttft, tpot, e2e, queue)",
     .kind = FieldKind::kPercentiles,
     .unit = Unit::kSeconds},
    {.path = "targets.from_s",
     .help = "Only requests that arrive from this time on (counted from the first arrival) enter latencies "
             "and targets",
     .kind = FieldKind::kSeconds,
     .unit = Unit::kSeconds},
    {.path = "targets.to_s",
     .help = "Only requests that arrive before this time (counted from the first arrival) enter latencies "
             "and targets",
     .kind = FieldKind::kSeconds,
     .unit = Unit::kSeconds},
    {.path = "prices", .help = "Price list (JSON) of devices, for the cost of a run"},
}};

}  // namespace

std::span<const Field> scenario_fields() {
  return kFields;
}

}  // namespace kvplan::runs
