// The family "pool-rule": how an engine decides how much of a device's memory the KV cache gets. And the amounts beside
// weights that each of them has to know, with what kvplan assumes where nobody measured them.
#pragma once

#include <cstdint>

#include "simulator/base/component.h"
#include "simulator/model/device.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {

/// Memory of one rank, in bytes. All of it is below 2^60.
struct RankMemory {
  std::int64_t device{0};       ///< what a program is told that there is
  std::int64_t context{0};      ///< there before anything is loaded: device context, communication
  std::int64_t weights{0};      ///< as loaded
  std::int64_t activations{0};  ///< peak of the engine's own allocator in a forward pass, weights aside
  std::int64_t workspace{0};    ///< what libraries take beside that allocator while loading and profiling
  std::int64_t graphs{0};       ///< captured after the pool is made
};

/// How the memory is split; device = aside + the amounts of RankMemory that are set here + pool, exactly.
struct PoolSplit {
  std::int64_t pool{0};   ///< of the KV cache; may be negative: it does not fit
  std::int64_t aside{0};  ///< what the rule leaves to others
  bool context_aside{false}, activations_aside{false}, workspace_aside{false};  ///< has to fit in `aside`
};

/// Sorted by name.
Catalogue pool_rule_descriptors();
/// REQUIRES: a choice of family "pool-rule"; 0 <= amounts < 2^60.
PoolSplit split_memory(const Choice& rule, const RankMemory& memory);
/// True: one of the pool's blocks can hold nothing (vLLM's block 0).
bool has_null_block(const Choice& rule);

/// What a figure of RankMemory is where nobody gave it, with the reasons.
Figure assumed_activations(const ModelShape& shape, std::int64_t tensor_ranks, std::int64_t step_tokens,
                           std::int64_t step_requests);
Figure assumed_context();
Figure assumed_workspace();
Figure assumed_graphs();

}  // namespace kvplan::model
