// Arithmetic that the grouped allocator and its slow model share.
#pragma once

#include "simulator/base/result.h"
#include "simulator/memory/allocators.h"

namespace kvplan::memory {

struct GroupedParts {
  core::MemoryLayout layout;
  std::int64_t step_tokens{0};   ///< most tokens of one request that a step computes
  std::int64_t asked_tokens{0};  ///< tokens of a block that the choice asks for; states may have raised them

  /// Most blocks that a request holds with up to `tokens` tokens (vllm/v1/kv_cache_interface.py,
  /// max_memory_usage_bytes: a window of W spans at most ceil((W - 1 + tokens of a step) / block) + 1 blocks).
  [[nodiscard]] std::int64_t most_blocks(std::int64_t tokens) const;
  /// Blocks that vLLM asks for before it starts, for a request of `tokens` (max_model_len): as most_blocks, but a
  /// window has its one block more even where the whole request takes fewer.
  [[nodiscard]] std::int64_t asked_blocks(std::int64_t tokens) const;
};

/// The groups of a stage's layers, and the pool that they share; without a model, one group without a window. Errors:
/// layers with different numbers of bytes, more different windows than a step's load tells apart, a pool that is too
/// small or too large, a block size that does not divide the block size of the trace's hashes.
///
/// Layers with states (vllm-project/vllm v0.15.1, vllm/model_executor/models/config.py,
/// HybridAttentionMambaModelConfig): a block has at least so many tokens that what a layer with attention stores of
/// them is as long as a state on this rank, a multiple of 16 (of 64 where layers have a latent vector); a state is
/// filled up to that. The state counts in whole slots of a token, rounded up. Errors: states beside prefix caching,
/// different states, scales, no layers with attention on this stage.
Result<GroupedParts> grouped_parts(const Choice& choice, const AllocatorRequest& request);

/// The fast pool with a prefix cache. Errors: as make_pool_policy.
Result<std::unique_ptr<core::Allocator>> make_grouped_prefixes(const GroupedParts& parts,
                                                               const AllocatorRequest& request);
Result<std::unique_ptr<core::Allocator>> make_grouped_model(const Choice& choice,
                                                            const AllocatorRequest& request);

}  // namespace kvplan::memory
