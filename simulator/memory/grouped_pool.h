// What the grouped allocator and its slow model are made from: arithmetic only, no behaviour.
#pragma once

#include "simulator/base/result.h"
#include "simulator/memory/allocators.h"

namespace kvplan::memory {

struct GroupedParts {
  core::MemoryLayout layout;
  std::int64_t step_tokens{0};  ///< most tokens of a request that one step computes

  /// Blocks that a request holds at most, up to `tokens` tokens (vllm/v1/kv_cache_interface.py,
  /// max_memory_usage_bytes: a window of W spans at most ceil((W - 1 + tokens of a step) / block) + 1 blocks).
  [[nodiscard]] std::int64_t most_blocks(std::int64_t tokens) const;
};

/// Groups of the model's layers, on a stage, and the pool that they share; without a model one group without a window.
/// Errors: layers that keep different numbers of bytes, more different windows than a step's load tells apart, a pool
/// that is too small or too large, blocks that are not a divisor of those by which the trace names its contents.
Result<GroupedParts> grouped_parts(const Choice& choice, const AllocatorRequest& request);

/// What serves where prefixes are found again. Errors: as make_pool_policy.
Result<std::unique_ptr<core::Allocator>> make_grouped_prefixes(const GroupedParts& parts,
                                                               const AllocatorRequest& request);
Result<std::unique_ptr<core::Allocator>> make_grouped_model(const Choice& choice,
                                                            const AllocatorRequest& request);

}  // namespace kvplan::memory
