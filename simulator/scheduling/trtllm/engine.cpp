// TensorRT-LLM: its pool rule and its kernels. Its scheduler is not modelled.
#include <array>
#include <cmath>

#include "simulator/model/pool_rule.h"
#include "simulator/scheduling/engine.h"

namespace kvplan::scheduling::trtllm {
namespace {

constexpr std::string_view kShare = "free_gpu_memory_fraction";

constexpr std::array<Param, 1> kPoolParams{model::memory_share(
    kShare, "KV cache, as a share of the memory that is free after everything else", "0.9")};

/// The pool is a fraction of the memory that is free after weights and activations.
model::PoolSplit split(const Choice& rule, const model::RankMemory& m) {
  const std::int64_t free = m.device - m.context - m.weights - m.activations - m.workspace;
  const double share = rule.decimal(kShare);
  const std::int64_t pool =
      free > 0 ? static_cast<std::int64_t>(std::floor(static_cast<double>(free) * share)) : free;
  return {.pool = pool, .aside = free - pool};
}

constexpr model::PoolRule kPoolRule{
    .descriptor =
        {.family = "pool-rule",
         .name = "trt-llm",
         .summary = "The pool is a share of the memory that weights, activations and libraries leave free.",
         .source = "NVIDIA/TensorRT-LLM, docs/source/features/kvcache.md (free_gpu_memory_fraction)",
         .params = kPoolParams},
    .split = split,
    .terms = [](const Choice&, const model::RankFacts& facts) { return model::assumed_terms(facts); },
    .share = kShare};

}  // namespace

extern const Engine kEngine;
constinit const Engine kEngine{.pool_rule = &kPoolRule, .kernels = "trtllm"};

}  // namespace kvplan::scheduling::trtllm
