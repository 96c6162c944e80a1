// The family "pool-rule": how an engine decides how much of a device's memory the KV cache gets. A member lies in
// its engine's folder (scheduling/NAME/pool_rule.cpp), with the amounts beside weights as its engine logs them. Here is
// its interface, with kvplan's assumptions for engines of which no start-up was measured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simulator/base/component.h"
#include "simulator/base/result.h"
#include "simulator/model/device.h"
#include "simulator/model/model_shape.h"
#include "simulator/model/weights.h"

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

/// A figure, and between which values it lies; equal ones: it is exact.
struct Estimate {
  Figure figure;
  std::int64_t low{0}, high{0};
};

/// What a rule may ask about a rank before it is started.
struct RankFacts {
  const ModelShape* model{nullptr};
  const StageWeights* weights{nullptr};  ///< of its stage; null, or none of any part: not known
  const DeviceShape* device{nullptr};
  std::int64_t tensor_ranks{1}, stages{1};
  bool has_output{true};  ///< the last stage, which samples
  std::int64_t step_tokens{0}, step_requests{0};
};

/// The amounts beside weights, as an engine of this rule would log them.
struct RankTerms {
  Estimate context, activations, workspace, graphs;
};

/// How the memory is split: device = aside + the amounts of RankMemory that are not in `aside` + pool, exactly.
struct PoolSplit {
  std::int64_t pool{0};   ///< bytes of the KV cache; negative: it does not fit
  std::int64_t aside{0};  ///< what the rule leaves to others
  /// True: this amount has to fit in `aside`
  bool context_aside{false}, activations_aside{false}, workspace_aside{false}, graphs_aside{true};
};

struct PoolRule {
  Descriptor descriptor;
  /// REQUIRES: a choice of this member; 0 <= amounts < 2^60.
  PoolSplit (*split)(const Choice& rule, const RankMemory& memory);
  /// REQUIRES: as split, and a choice that passed check_rule.
  RankTerms (*terms)(const Choice& rule, const RankFacts& facts);
  std::string_view share;  ///< the parameter that says which share of memory the engine takes
  /// The share that the engine takes where none is given. Null: the default of the parameter.
  std::string (*share_on)(const RankFacts& facts){nullptr};
  /// Errors, at the name of a parameter: a value that its kind lets through and the rule does not know. Null: none.
  Status (*check)(const Choice& rule){nullptr};
  /// The engine of this pool, for reports: "vLLM 0.19.0, ...". Null: there is nothing to say.
  std::string (*says)(const Choice& rule){nullptr};
  bool null_block{false};  ///< one of the pool's blocks can hold nothing (vLLM's block 0)
};

/// A rule with its parameters.
struct PoolRuleChoice {
  const PoolRule* rule{nullptr};
  Choice choice{};

  [[nodiscard]] PoolSplit split(const RankMemory& memory) const { return rule->split(choice, memory); }
  [[nodiscard]] RankTerms terms(const RankFacts& facts) const { return rule->terms(choice, facts); }
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

/// Terms of an engine of which no start-ups were measured.
RankTerms assumed_terms(const RankFacts& facts);

/// The larger of one layer's activations for all tokens of a step, and of sampling for all its requests.
Estimate assumed_activations(const RankFacts& facts);

}  // namespace kvplan::model
