#include <array>
#include <cmath>

#include "simulator/scheduling/vllm/parts.h"

namespace kvplan::scheduling::vllm {
namespace {

constexpr std::string_view kShare = "memory_utilization";

constexpr std::array<Param, 1> kPoolParams{
    model::memory_share(kShare, "Share of the device's memory that the engine may use", "0.9")};

/// requested = ceil(total x utilization), available = requested - (weights + activations + non-torch increase). The
/// product is one of doubles, as in vLLM.
model::PoolSplit split(const Choice& rule, const model::RankMemory& m) {
  const double share = rule.decimal(kShare);
  const auto requested = static_cast<std::int64_t>(std::ceil(static_cast<double>(m.device) * share));
  return {.pool = requested - m.weights - m.activations - m.workspace,
          .aside = m.device - requested,
          .context_aside = true};
}

}  // namespace

const model::PoolRule kPoolRule{
    .descriptor = {.family = "pool-rule",
                   .name = "vllm-v1",
                   .summary =
                       "The pool is a share of the device memory, minus weights, the activation peak of a "
                       "profiling run, and what libraries allocated meanwhile; one block is the null block.",
                   .source =
                       "vllm-project/vllm v0.15.1, vllm/v1/worker/gpu_worker.py (determine_available_memory)",
                   .params = kPoolParams},
    .split = split,
    .share = kShare,
    .null_block = true};

}  // namespace kvplan::scheduling::vllm
