// The family "pool-rule": how an engine decides how much of a device's memory the KV cache gets; and the amounts
// beside weights that every rule needs, with kvplan's assumptions if they were not measured.
#pragma once

#include <cstdint>

#include "simulator/base/component.h"
#include "simulator/model/device.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {

/// Memory of one rank, in bytes; each amount is below 2^60.
struct RankMemory {
  std::int64_t device{0};       ///< memory that programs see on the device
  std::int64_t context{0};      ///< in use before anything is loaded: device context, communication
  std::int64_t weights{0};      ///< as loaded
  std::int64_t activations{0};  ///< peak of the engine's own allocator in a forward pass, without weights
  std::int64_t workspace{0};    ///< what libraries allocate beside that allocator while loading and profiling
  std::int64_t graphs{0};       ///< captured after the pool is allocated
};

/// How the memory is split: device = aside + the amounts of RankMemory that are not in `aside` + pool, exactly.
struct PoolSplit {
  std::int64_t pool{0};   ///< bytes of the KV cache; negative: it does not fit
  std::int64_t aside{0};  ///< what the rule leaves to others
  /// True: this amount has to fit in `aside`
  bool context_aside{false}, activations_aside{false}, workspace_aside{false};
};

/// Sorted by name.
Catalogue pool_rule_descriptors();
/// REQUIRES: a choice of family "pool-rule"; 0 <= amounts < 2^60.
PoolSplit split_memory(const Choice& rule, const RankMemory& memory);
/// True: one of the pool's blocks can hold nothing (vLLM's block 0).
bool has_null_block(const Choice& rule);

/// The assumed value of a figure of RankMemory that was not given, with the reasons.
Figure assumed_activations(const ModelShape& shape, std::int64_t tensor_ranks, std::int64_t step_tokens,
                           std::int64_t step_requests);
Figure assumed_context();
Figure assumed_workspace();
Figure assumed_graphs();

}  // namespace kvplan::model
