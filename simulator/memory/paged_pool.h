// Pool size and parameters shared by the paged allocator and its slow model: arithmetic only, no behaviour.
#pragma once

#include "simulator/base/result.h"
#include "simulator/memory/allocators.h"

namespace kvplan::memory {

/// Can contents that the trace names be found in such blocks? They are a divisor of its own, where prefixes are found
/// again.
Status check_hash_block(std::int64_t block_tokens, const AllocatorRequest& request);

/// Capacity, blocks and padding of a paged pool. vLLM keeps block 0 as the null block, so one block of the
/// pool is never given out. Errors: no block left for requests, byte counts beyond 2^62, blocks that are not
/// a divisor of those by which the trace names its contents.
Result<core::MemoryLayout> paged_layout(std::int64_t block_tokens, const AllocatorRequest& request);

Result<std::unique_ptr<core::Allocator>> make_paged(const Choice& choice, const AllocatorRequest& request);
Result<std::unique_ptr<core::Allocator>> make_paged_model(const Choice& choice,
                                                          const AllocatorRequest& request);

/// What `make_paged` gives where nothing can tell blocks apart: the same pool without ids
/// (allocator_paged_runs.cpp). REQUIRES: request.block_ids is false, and no content can be found by another
/// request.
std::unique_ptr<core::Allocator> make_paged_runs(core::MemoryLayout layout, const AllocatorRequest& request);

/// What both give where layout.tables > 1, or a request may hold blocks beyond those of its tokens: the pool of
/// allocator_paged_tables.cpp, and its model.
std::unique_ptr<core::Allocator> make_paged_tables(const core::MemoryLayout& layout,
                                                   const AllocatorRequest& request);
std::unique_ptr<core::Allocator> make_paged_tables_model(const core::MemoryLayout& layout,
                                                         const AllocatorRequest& request);

}  // namespace kvplan::memory
