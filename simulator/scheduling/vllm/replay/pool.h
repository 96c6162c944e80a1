// Shared by the replays of vLLM V1: the pool of blocks, as the fast allocator or as its slow model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "simulator/base/result.h"
#include "simulator/core/allocator.h"
#include "simulator/core/workload.h"
#include "simulator/scheduling/replay/cache_options.h"

namespace kvplan::replays {

inline constexpr std::int64_t kSchedQuantumMs = 50;

/// Errors: a block size that does not divide the block size of the trace's hashes.
Status check_block(const core::Workload& workload, const CacheOptions& options);

/// Errors: block_tokens below 1, blocks below 2, and those of check_block and of the allocator.
Result<std::unique_ptr<core::Allocator>> make_vllm_pool(const core::Workload& workload,
                                                        const CacheOptions& options);

/// The pool's prefix cache, which paged memory always has.
core::Contents& contents_of(core::Allocator& pool);

/// Counts evicted blocks.
class EvictionCounter final : public core::BlockListener {
 public:
  void on_insert(RequestId /*request*/, std::int64_t /*logical_block*/, BlockId /*block*/) override {}
  void on_evict_block(BlockId /*block*/) override { ++evicted_; }
  /// Evictions since the last call.
  std::int64_t take() { return std::exchange(evicted_, 0); }

 private:
  std::int64_t evicted_{0};
};

/// CRC-32 (as in zlib) over block ids in order, each as four little-endian bytes; kNoBlock counts as 0. `before`: the
/// CRC-32 of what precedes them, 0 if nothing.
std::uint32_t table_crc32(std::span<const BlockId> table, std::uint32_t before = 0);

}  // namespace kvplan::replays
