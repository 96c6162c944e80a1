#include <array>
#include <cmath>

#include "simulator/scheduling/sglang/parts.h"

namespace kvplan::scheduling::sglang {
namespace {

constexpr std::string_view kShare = "mem_fraction_static";

constexpr std::array<Param, 1> kPoolParams{model::memory_share(
    kShare,
    "Weights and KV cache, as a share of the free memory before loading; the default is the engine's own for "
    "an 80 GB device, prefill chunks of 8,192 and CUDA graphs up to batch 256",
    "0.843")};

/// What is free after loading, less a share of what was free before.
model::PoolSplit split(const Choice& rule, const model::RankMemory& m) {
  const std::int64_t before = m.device - m.context;
  const double rest = static_cast<double>(before) * (1 - rule.decimal(kShare));
  const auto pool = static_cast<std::int64_t>(std::floor(static_cast<double>(before - m.weights) - rest));
  return {
      .pool = pool, .aside = before - m.weights - pool, .activations_aside = true, .workspace_aside = true};
}

}  // namespace

const model::PoolRule kPoolRule{
    .descriptor =
        {.family = "pool-rule",
         .name = "sglang",
         .summary =
             "The pool is the free memory after loading, minus a share of the free memory before loading "
             "that is reserved for activations and CUDA graphs.",
         .source = "sgl-project/sglang v0.5.5, srt/model_executor/model_runner.py (profile_max_num_token)",
         .params = kPoolParams},
    .split = split,
    .share = kShare};

}  // namespace kvplan::scheduling::sglang
