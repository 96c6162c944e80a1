// The paths of a scenario: what each is, and what it may be.
#include <array>

#include "simulator/model/footprint.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::plan {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 62;

/// A rank's memory of one kind that somebody knows; more than any device has.
constexpr Field known_bytes(std::string_view path, std::string_view help) {
  return {.path = path,
          .help = help,
          .kind = FieldKind::kInteger,
          .unit = Unit::kBytes,
          .low = 0,
          .high = std::int64_t{1} << 50};
}

constexpr std::array<Field, 43> kFields{{
    {.path = "workload.trace", .help = "Trace file: a .kvt or any importable file"},
    {.path = "workload.format", .help = "Importer of the trace's file, instead of what its content says"},
    {.path = "workload.map",
     .help =
         "Columns of the trace's file if it is another table: "
         "arrival=COLUMN[:s|ms|us|ns|iso],input=COLUMN,output=COLUMN[,...]; times are seconds unless a unit "
         "is given"},
    {.path = "workload.block_tokens",
     .help = "Tokens of one prefix id in the trace's file, where its format leaves that open",
     .kind = FieldKind::kInteger,
     .unit = Unit::kTokens,
     .low = 1,
     .high = std::int64_t{1} << 20},
    {.path = "workload.rate_scale",
     .help = "Requests arrive this many times as fast (p/q or decimal)",
     .kind = FieldKind::kFraction,
     .unit = Unit::kRatio,
     .fallback = "1"},
    {.path = "workload.sessions",
     .help = "When turns of recorded sessions arrive",
     .kind = FieldKind::kComponent,
     .fallback = "stated",
     .family = "sessions"},
    {.path = "workload.limit",
     .help = "Only the first n requests",
     .kind = FieldKind::kInteger,
     .unit = Unit::kRequests,
     .low = 0,
     .high = kMost},
    {.path = "workload.attention",
     .help = "Recordings FILE[,FILE...] (.kva), of FILE@N sequence N alone: request i is driven by recording "
             "i mod n, where the policy asks"},
    {.path = "workload.extrapolation",
     .help = "What recordings of another shape than the model's stand for",
     .kind = FieldKind::kComponent,
     .fallback = "none",
     .family = "extrapolation"},
    {.path = "model",
     .help =
         "Name of the served model, or path of a Hugging Face config.json; \"recording\" takes the shape of "
         "workload.attention",
     .fallback = "llama-3-8b"},
    {.path = "seed",
     .help =
         "Seed of what a run draws by chance but for components, which have their own; today that is nothing",
     .kind = FieldKind::kInteger,
     .fallback = "0",
     .low = 0,
     .high = INT64_MAX},
    {.path = "format",
     .help = "In what the cache keeps keys and values: so many bytes a token, or as a codec encodes them; "
             "none is "
             "another name of native",
     .kind = FieldKind::kComponent,
     .fallback = "native",
     .family = "format"},
    {.path = "window_format",
     .help = "In what layers with a window keep what it shows, apart from the others; none: all layers keep "
             "and store alike",
     .kind = FieldKind::kComponent,
     .fallback = "none",
     .family = kWindowFormatFamily},
    {.path = "deployment.device",
     .help =
         "Device of every rank (kvplan list device): its memory decides the pool where none is given, its "
         "bandwidth and FLOP/s the roofline"},
    {.path = "deployment.tp",
     .help = "Tensor-parallel ranks: each has a share of the heads",
     .kind = FieldKind::kInteger,
     .fallback = "1",
     .low = 1,
     .high = model::kMostRanks},
    {.path = "deployment.pp",
     .help = "Pipeline stages: each has some of the layers",
     .kind = FieldKind::kInteger,
     .fallback = "1",
     .low = 1,
     .high = 4096},
    {.path = "deployment.pool_rule",
     .help = "How the engine decides what the KV cache gets of a device's memory",
     .kind = FieldKind::kComponent,
     .fallback = "vllm-v1",
     .family = "pool-rule"},
    {.path = "deployment.weight_bits",
     .help = "Bits of a weight; without it as many as the model's elements have, scales are not counted",
     .kind = FieldKind::kInteger,
     .low = 1,
     .high = 64},
    known_bytes("deployment.weights_bytes",
                "Weights of a rank as loaded, instead of the model's parameters times their bits"),
    known_bytes("deployment.activation_bytes",
                "Peak of the engine's own memory in a step, weights aside; without it assumed by the limits "
                "of a step"),
    known_bytes("deployment.workspace_bytes",
                "What libraries take beside that while the engine loads and profiles; without it 128 MiB are "
                "assumed"),
    known_bytes(
        "deployment.context_bytes",
        "Taken before anything is loaded: device context, communication; without it 512 MiB are assumed"),
    known_bytes("deployment.graph_bytes",
                "Graphs that are captured after the pool is made; without it 512 MiB are assumed"),
    {.path = "memory.pool_bytes",
     .help =
         "KV memory of one replica; the default is what an 80 GB device may have left beside an 8 B model",
     .kind = FieldKind::kInteger,
     .unit = Unit::kBytes,
     .fallback = "51539607552",
     .low = 1,
     .high = kMost},
    {.path = "memory.pool_tokens",
     .help = "The same in tokens",
     .kind = FieldKind::kInteger,
     .unit = Unit::kTokens,
     .low = 1,
     .high = kMost},
    {.path = "memory.pool_blocks",
     .help = "The same in blocks, the null block included (num_gpu_blocks)",
     .kind = FieldKind::kInteger,
     .unit = Unit::kBlocks,
     .low = 1,
     .high = kMost},
    {.path = "memory.allocator",
     .help = "How KV memory is allotted",
     .kind = FieldKind::kComponent,
     .fallback = "paged",
     .family = "allocator"},
    {.path = "memory.replacement",
     .help =
         "Which cached block of the pool is given up for another, where prefixes are found again; ignored, "
         "with a warning, where they are not",
     .kind = FieldKind::kComponent,
     .fallback = "vllm-queue",
     .family = "replacement"},
    {.path = "engine",
     .help = "Scheduler and its limits",
     .kind = FieldKind::kComponent,
     .fallback = "vllm-v1",
     .family = "engine"},
    {.path = "latency",
     .help = "How long a step takes; where nobody says, composed with deployment.device if attention of the "
             "model was measured on it",
     .kind = FieldKind::kComponent,
     .fallback = "roofline",
     .family = "latency"},
    {.path = "fleet.replicas",
     .help = "Engines that share the requests",
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
     .help = "Which tokens stay in the cache; none is another name of full",
     .kind = FieldKind::kComponent,
     .fallback = "full",
     .family = "eviction"},
    {.path = "budget",
     .help =
         "How many tokens each layer or head keeps, in place of the one number that the policy says; none "
         "leaves it to the policy",
     .kind = FieldKind::kComponent,
     .fallback = "none",
     .family = "budget"},
    {.path = "reader",
     .help = "What decode steps read of a cache that keeps everything; full reads all of it",
     .kind = FieldKind::kComponent,
     .fallback = "full",
     .family = "reader"},
    {.path = "targets.ttft_s",
     .help = "Time to first token that should be met",
     .kind = FieldKind::kSeconds,
     .unit = Unit::kSeconds},
    {.path = "targets.tpot_s",
     .help = "Time per output token that should be met",
     .kind = FieldKind::kSeconds,
     .unit = Unit::kSeconds},
    {.path = "targets.e2e_s",
     .help = "Time to last token that should be met",
     .kind = FieldKind::kSeconds,
     .unit = Unit::kSeconds},
    {.path = "targets.fraction",
     .help = "Share of the arrived requests that has to meet all targets",
     .kind = FieldKind::kFraction,
     .unit = Unit::kRatio,
     .fallback = "0.99",
     .high = 1},
    {.path = "targets.percentiles_s",
     .help =
         "Percentiles that should be met, each by itself: LATENCY.pN=SECONDS with commas between, such as "
         "ttft.p99=2,tpot.p50=0.05 (ttft, tpot, e2e, queue)",
     .kind = FieldKind::kPercentiles,
     .unit = Unit::kSeconds},
    {.path = "targets.from_s",
     .help = "Latencies and targets are of requests that arrive from here on, since the first arrival",
     .kind = FieldKind::kSeconds,
     .unit = Unit::kSeconds},
    {.path = "targets.to_s",
     .help = "Latencies and targets are of requests that arrive before this, since the first arrival",
     .kind = FieldKind::kSeconds,
     .unit = Unit::kSeconds},
    {.path = "prices", .help = "Price list (JSON) of devices: what a run costs"},
}};

}  // namespace

std::span<const Field> scenario_fields() {
  return kFields;
}

}  // namespace kvplan::plan
