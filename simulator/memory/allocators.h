// The allocator family: its catalogue and how members are made.
//
// A member is one file allocator_NAME.cpp with an `AllocatorEntry`, and one line in allocators.cpp. Every member exists
// twice: the fast one, and a slow, obvious model with the same answers, which step-by-step runs and the conformance
// suite use.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "simulator/base/case_price.h"
#include "simulator/base/component.h"
#include "simulator/core/allocator.h"
#include "simulator/core/request_column.h"
#include "simulator/core/workload.h"
#include "simulator/model/kv_format.h"
#include "simulator/model/model_shape.h"

namespace kvplan::memory {

/// Size of the pool. Exactly one of the first three members is >= 0.
struct PoolSize {
  std::int64_t bytes{-1};
  std::int64_t tokens{-1};
  std::int64_t blocks{-1};  ///< vLLM's num_gpu_blocks, null block included
};

/// What an allocator is made from. Pointers outlive the allocator.
struct AllocatorRequest {
  const core::Workload* workload{nullptr};
  PoolSize pool;
  std::int64_t token_bytes{1};      ///< bytes of one token, metadata included
  std::int64_t cells_per_token{1};  ///< see core::MemoryLayout
  std::int64_t metadata_bytes{0};   ///< see core::MemoryLayout
  std::int64_t tables{1};           ///< see core::MemoryLayout; for members with a parameter `table`
  /// Allocation units that a request may hold beyond those of its tokens (courses/encoded_course.h). Above 0
  /// only for `paged`, and then blocks have no ids.
  std::int64_t alloc_units_beyond{0};
  /// The model of the keys and values; null: only token_bytes is known. The memory is that of one of
  /// `tensor_ranks` ranks of a stage with `layers` layers (below 0: all layers from there on), in a format
  /// (null: the model's own elements).
  const model::ModelShape* model{nullptr};
  const model::KvFormat* format{nullptr};
  std::int64_t tensor_ranks{1};
  std::int64_t first_layer{0}, layers{-1};
  /// Most tokens of one request that a step computes.
  std::int64_t step_tokens{INT32_MAX};
  bool prefix_cache{true};
  /// A member of the family "replacement" that chooses the cached block to evict (pool_policy.h). Null: the
  /// allocator's own rule. Without meaning for members without a prefix cache.
  const Choice* replacement{nullptr};
  /// False: no caller needs the block ids of a request. A member may then count blocks without ids
  /// (core::AllocUnitIds::kNone); every other answer stays the same.
  bool block_ids{true};
  std::int64_t max_model_len{262144};  ///< the length that reserve=max reserves
  /// Columns shared by all replicas of the run; null: the allocator makes its own.
  core::RequestColumns* columns{nullptr};

  [[nodiscard]] core::RequestColumn<std::int32_t> places() const {
    return columns != nullptr ? columns->place
                              : core::RequestColumn<std::int32_t>(workload->input.size(), -1);
  }
};

/// What one block table covers: the whole request, one layer, or one KV head.
enum class TablePer : std::uint8_t { kRequest, kLayer, kHead };

struct AllocatorEntry {
  Descriptor descriptor;
  /// Makes the fast allocator. Errors: a pool size that this member does not take, or too small a pool.
  Result<std::unique_ptr<core::Allocator>> (*make)(const Choice&, const AllocatorRequest&);
  /// Makes its slow, obvious model.
  Result<std::unique_ptr<core::Allocator>> (*make_model)(const Choice&, const AllocatorRequest&);
  /// True: the member has a prefix cache: blocks of finished requests can be hit (the engine's prefix_cache has
  /// an effect), and a policy may choose which is evicted (AllocatorRequest::replacement).
  bool shares_prefixes;
  /// True: no KV is ever stored (core::TableForm::kNothing), so policies have nothing to drop and formats
  /// nothing to store. The code that makes replicas must set core::ReplicaSetup::keeps_nothing.
  bool keeps_nothing{false};
  /// True: layers with a window keep only the tokens that it shows.
  bool follows_windows{false};
  /// What a table covers with this choice; null: one table per request.
  TablePer (*table_per)(const Choice&) = nullptr;
  /// True: memory is a pool of equal blocks that are freed one by one, so a retention schedule may free, move and
  /// refill blocks. The bytes of a block do not depend on the number of blocks.
  bool frees_single_blocks{false};
  /// True: the range of a request is no longer than what is reserved for it.
  bool exact_ranges{false};
  CasePrice price{};  ///< additional time of a case with this member
};

namespace allocator_paged {
extern const AllocatorEntry kMember;
}
/// The member `paged`: the pool of vLLM's blocks, which the replays of vLLM use.
inline constexpr const AllocatorEntry& kPagedAllocator = allocator_paged::kMember;
/// All members, by name.
std::span<const AllocatorEntry* const> allocators();
/// Their descriptors.
Catalogue allocator_descriptors();
/// Names of all members with the trait, each in quotes, joined by "or".
std::string allocators_with(bool AllocatorEntry::*trait);
/// The member that a parsed choice names. REQUIRES: the choice is of family "allocator".
const AllocatorEntry& allocator_entry(const Choice& choice);

}  // namespace kvplan::memory
