// The family "pool-rule": how an engine decides how much of a device's memory the KV cache gets. A member lies in
// its engine's folder (scheduling/NAME/pool_rule.cpp). Here are its interface and the amounts beside weights that
// every rule needs, with kvplan's assumptions if they were not measured.
#pragma once

#include <cstdint>
#include <string_view>

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

struct PoolRule {
  Descriptor descriptor;
  /// REQUIRES: a choice of this member; 0 <= amounts < 2^60.
  PoolSplit (*split)(const Choice& rule, const RankMemory& memory);
  std::string_view share;  ///< the parameter that says which share of memory the engine takes
  bool null_block{false};  ///< one of the pool's blocks can hold nothing (vLLM's block 0)
};

/// A rule with its parameters.
struct PoolRuleChoice {
  const PoolRule* rule{nullptr};
  Choice choice{};

  [[nodiscard]] PoolSplit split(const RankMemory& memory) const { return rule->split(choice, memory); }
  /// The same rule with another share. REQUIRES: a share within the parameter's limits.
  [[nodiscard]] PoolRuleChoice with_share(std::string_view share) const;
};

/// A parameter that is a share of memory.
constexpr Param memory_share(std::string_view name, std::string_view help, std::string_view fallback) {
  return {.name = name,
          .help = help,
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = fallback,
          .low = 0.01,
          .high = 1};
}

/// The assumed value of a figure of RankMemory that was not given, with the reasons.
Figure assumed_activations(const ModelShape& shape, std::int64_t tensor_ranks, std::int64_t step_tokens,
                           std::int64_t step_requests);
Figure assumed_context();
Figure assumed_workspace();
Figure assumed_graphs();

}  // namespace kvplan::model
