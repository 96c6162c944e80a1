// The allocator family: its catalogue and how members are made.
//
// A member is one file allocator_NAME.cpp with an `AllocatorEntry` and one line in allocators.cpp. Every
// member comes twice: the one that serves, and a slow obvious model with the same answers, used by
// step-by-step runs and by the conformance suite.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "simulator/base/component.h"
#include "simulator/core/allocator.h"
#include "simulator/core/request_column.h"
#include "simulator/core/workload.h"
#include "simulator/model/kv_format.h"
#include "simulator/model/model_shape.h"

namespace kvplan::memory {

/// How large the pool is; exactly one of the first three is >= 0.
struct PoolSize {
  std::int64_t bytes{-1};
  std::int64_t tokens{-1};
  std::int64_t blocks{-1};  ///< vLLM's num_gpu_blocks: the null block included
};

/// What an allocator needs to know. Pointers outlive the allocator.
struct AllocatorRequest {
  const core::Workload* workload{nullptr};
  PoolSize pool;
  std::int64_t token_bytes{1};      ///< of one token's place, metadata included
  std::int64_t cells_per_token{1};  ///< see core::MemoryLayout
  std::int64_t metadata_bytes{0};   ///< see core::MemoryLayout
  std::int64_t tables{1};           ///< see core::MemoryLayout; of members with a parameter `table`
  /// Allocation units that a request may hold beyond those of its tokens (courses/encoded_course.h); more than 0: of
  /// `paged`, and blocks have no ids.
  std::int64_t alloc_units_beyond{0};
  /// Whose keys and values they are; null: nothing is known but token_bytes. The memory is that of one of
  /// `tensor_ranks` ranks of a stage with `layers` layers (below 0: all from there on), in a format (null: the model's
  /// own elements).
  const model::ModelShape* model{nullptr};
  const model::KvFormat* format{nullptr};
  std::int64_t tensor_ranks{1};
  std::int64_t first_layer{0}, layers{-1};
  /// Most tokens of a request that one step computes.
  std::int64_t step_tokens{INT32_MAX};
  bool prefix_cache{true};
  /// Of family "replacement", a member that pools can use: which cached block is given up (pool_policy.h). Null: the
  /// member's own way. Means nothing to those that share no prefixes.
  const Choice* replacement{nullptr};
  /// False: nobody will ask which blocks a request holds. A member may then keep its books without ids
  /// (core::AllocUnitIds::kNone); every other answer stays the same.
  bool block_ids{true};
  std::int64_t max_model_len{262144};  ///< what reserve=max reserves
  /// Of all replicas of the run; null: the allocator makes its own.
  core::RequestColumns* columns{nullptr};

  [[nodiscard]] core::RequestColumn<std::int32_t> places() const {
    return columns != nullptr ? columns->place
                              : core::RequestColumn<std::int32_t>(workload->input.size(), -1);
  }
};

/// What each table of a request is of.
enum class TablePer : std::uint8_t { kRequest, kLayer, kHead };

struct AllocatorEntry {
  Descriptor descriptor;
  /// The allocator that serves. Errors: a pool that this member cannot be given, or that is too small to
  /// exist.
  Result<std::unique_ptr<core::Allocator>> (*make)(const Choice&, const AllocatorRequest&);
  /// Its slow obvious model.
  Result<std::unique_ptr<core::Allocator>> (*make_model)(const Choice&, const AllocatorRequest&);
  /// True: blocks of finished requests can be found again (the engine's prefix_cache means something), and which of
  /// them is given up may be a policy's to say (AllocatorRequest::replacement).
  bool shares_prefixes;
  /// True: nothing is ever kept (core::TableForm::kNothing): no policy has anything to drop, no format to store.
  /// Whoever makes replicas over it says so to them (core::ReplicaSetup::keeps_nothing).
  bool keeps_nothing{false};
  /// True: layers with a window hold what it shows, not every token.
  bool follows_windows{false};
  /// Tables that the choice asks for; null: one.
  TablePer (*table_per)(const Choice&) = nullptr;
};

/// All members, by name.
std::span<const AllocatorEntry* const> allocators();
/// Their descriptors.
Catalogue allocator_descriptors();
/// The member of a parsed choice. REQUIRES: the choice is of family "allocator".
const AllocatorEntry& allocator_entry(const Choice& choice);

}  // namespace kvplan::memory
