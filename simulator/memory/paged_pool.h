// Arithmetic of pool size and parameters, shared by the paged allocator and its slow model.
#pragma once

#include "simulator/base/result.h"
#include "simulator/memory/allocators.h"

namespace kvplan::memory {

/// Checks that blocks of this size can find the contents that the trace names: with a prefix cache,
/// `block_tokens` must divide the trace's own block size, or be larger.
Status check_hash_block(std::int64_t block_tokens, const AllocatorRequest& request);

/// Capacity, blocks and padding of a paged pool. vLLM keeps block 0 as the null block, so one block of the pool
/// is never handed out. Errors: no block left for requests, byte counts beyond 2^62, a block size by which
/// the contents that the trace names cannot be found.
Result<core::MemoryLayout> paged_layout(std::int64_t block_tokens, const AllocatorRequest& request);

Result<std::unique_ptr<core::Allocator>> make_paged(const Choice& choice, const AllocatorRequest& request);
Result<std::unique_ptr<core::Allocator>> make_paged_model(const Choice& choice,
                                                          const AllocatorRequest& request);

/// The pool that `make_paged` returns if no caller needs block ids: the same pool without ids
/// (allocator_paged_runs.cpp). REQUIRES: request.block_ids is false, and no content can be hit by another
/// request.
std::unique_ptr<core::Allocator> make_paged_runs(core::MemoryLayout layout, const AllocatorRequest& request);

/// The pool for layout.tables > 1, or if a request may hold blocks beyond those of its tokens:
/// allocator_paged_tables.cpp, and its model.
std::unique_ptr<core::Allocator> make_paged_tables(const core::MemoryLayout& layout,
                                                   const AllocatorRequest& request);
std::unique_ptr<core::Allocator> make_paged_tables_model(const core::MemoryLayout& layout,
                                                         const AllocatorRequest& request);

}  // namespace kvplan::memory
