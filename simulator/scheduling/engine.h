// What kvplan knows of one serving engine. All of it lies in the engine's folder, simulator/scheduling/NAME, and is
// registered by one line in engines.cpp (README.md is the map).
//
// The rest of the program asks an engine's traits. The names of its parameters and of its flags are known to the folder
// alone (a tidy rule checks that).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "simulator/base/component.h"
#include "simulator/base/result.h"
#include "simulator/core/engine.h"
#include "simulator/core/replica.h"
#include "simulator/io/log/rules.h"
#include "simulator/memory/allocators.h"

namespace kvplan::model {
struct PoolRule;
}
namespace kvplan::replays {
struct EngineReplay;
}

namespace kvplan::scheduling {

struct ServerFlag;

/// A limit, and the parameter under which users know it.
struct EngineLimit {
  std::int64_t value{0};
  std::string_view param;
};

/// What the rest of the program may want to know of an engine with its parameters.
struct EngineTraits {
  EngineLimit request_tokens;  ///< prompt and output of a request; longer requests are rejected
  EngineLimit running;         ///< requests at once
  EngineLimit step_tokens;     ///< computed in one step; the value may be beyond any prompt
  EngineLimit piece_tokens;    ///< of one prompt in one step; the value 0: as many as a step
  bool wants_prefixes{false};  ///< prefix caching is on
  bool index_of_its_own{
      false};  ///< cached prefixes lie in the engine's own tree, which has its own eviction order
  bool follows_policies{true};  ///< token policies, windows of layers and retention schedules work
  /// follows_policies is false under this setting only ("with policy=priority"); empty: it is false always.
  std::string_view no_policies_when{};
  bool reads_holes{false};  ///< attention reads what a policy dropped, as long as the block is held
  bool reads_parts{true};   ///< decode steps may read a part of what is kept (core::ReadRule)
  bool tells_blocks{true};  ///< observers learn which request holds which block
  /// The warning of a run whose trace states no priorities; empty: priorities mean nothing to the engine.
  std::string_view without_priorities{};
  event_log::Rules log{};  ///< what an event log says of the scheduler

  /// Most tokens of one prompt in one step.
  [[nodiscard]] std::int64_t most_piece_tokens() const {
    const bool less = piece_tokens.value > 0 && piece_tokens.value < step_tokens.value;
    return less ? piece_tokens.value : step_tokens.value;
  }
};

/// The scheduler of an engine: a member of the family "engine".
struct EngineEntry {
  Descriptor descriptor;
  EngineTraits (*traits)(const Choice& engine);
  /// The memory of one replica, empty. `naive`: the slow obvious one. Errors: an allocator on which the engine does not
  /// work, and what the allocator says.
  Result<std::unique_ptr<core::Memory>> (*make_memory)(const Choice& engine, const Choice& allocator,
                                                       const memory::AllocatorRequest& request, bool naive);
  /// REQUIRES: the memory was made by the same entry and outlives the replica, as does what `setup` names.
  std::unique_ptr<core::Replica> (*make_replica)(const Choice& engine, const core::ReplicaSetup& setup,
                                                 core::Memory& memory, bool naive);
};

/// An engine. Parts that kvplan does not have are null or empty.
struct Engine {
  const EngineEntry* scheduler{nullptr};      ///< runs take it as `engine`
  const model::PoolRule* pool_rule{nullptr};  ///< runs take it as `deployment.pool_rule`
  std::string_view kernels{};                 ///< the name under which times of its kernels are measured
  std::span<const ServerFlag> (*server_flags)(){nullptr};  ///< of the command that starts it (server_flags.h)
  std::span<const replays::EngineReplay* const>
      replays{};  ///< of `kvplan cache`: no time, but its very decisions
};

}  // namespace kvplan::scheduling
