#include "simulator/scheduling/engines.h"

#include <array>

namespace kvplan::scheduling {
namespace {

constexpr std::array<Param, 5> kEngineParams{{
    {.name = "token_budget",
     .help = "Tokens computed in one step at most (max_num_batched_tokens)",
     .unit = Unit::kTokens,
     .fallback = "8192",
     .low = 1,
     .high = 1 << 30},
    {.name = "max_seqs",
     .help = "Requests running at once at most (max_num_seqs)",
     .unit = Unit::kRequests,
     .fallback = "256",
     .low = 1,
     .high = 1 << 24},
    {.name = "long_prefill_threshold",
     .help = "Tokens of one prompt in one step at most; 0 = no limit (long_prefill_token_threshold)",
     .unit = Unit::kTokens,
     .fallback = "0",
     .low = 0,
     .high = 1 << 30},
    {.name = "prefix_cache",
     .help = "Blocks with equal content and prefix are shared and found again",
     .kind = ParamKind::kFlag,
     .fallback = "true"},
    {.name = "max_model_len",
     .help = "Requests whose prompt and output exceed this are rejected",
     .unit = Unit::kTokens,
     .fallback = "262144",
     .low = 1,
     .high = 1 << 30},
}};

constexpr Descriptor kVllmV1{.family = "engine",
                             .name = "vllm-v1",
                             .summary =
                                 "Continuous batching with chunked prefill, prefix caching and preemption by "
                                 "recompute, first come first "
                                 "served.",
                             .source = "vllm-project/vllm v0.15.1 (1892993): vllm/v1/core/sched/scheduler.py",
                             .params = kEngineParams};

}  // namespace

Catalogue engine_descriptors() {
  static constexpr std::array kAll{&kVllmV1};
  return kAll;
}

core::SchedulerParams scheduler_params(const Choice& engine) {
  return {.token_budget = engine.integer("token_budget"),
          .max_seqs = engine.integer("max_seqs"),
          .long_prefill_threshold = engine.integer("long_prefill_threshold"),
          .max_model_len = engine.integer("max_model_len")};
}

}  // namespace kvplan::scheduling
