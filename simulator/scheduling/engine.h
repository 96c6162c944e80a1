// What kvplan knows about one serving engine. All of it lies in the engine's folder, simulator/scheduling/NAME, and is
// registered by one line in engines.cpp (README.md is the map).
//
// The rest of the program asks for an engine's traits. Only the folder knows the names of its parameters and flags
// (checked by a tidy rule).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/base/result.h"
#include "simulator/core/engine.h"
#include "simulator/core/replica.h"
#include "simulator/io/log/rules.h"
#include "simulator/memory/allocators.h"

namespace kvplan::model {
struct DeviceShape;
struct PoolRule;
}  // namespace kvplan::model
namespace kvplan::replays {
struct EngineReplay;
}

namespace kvplan::scheduling {

struct ServerFlag;

/// A parameter of a scheduler, and the value with which its server starts.
struct ServerDefault {
  std::string_view param;
  std::int64_t value{0};
};

/// A limit of an engine, and the parameter by which users set it.
struct EngineLimit {
  std::int64_t value{0};
  std::string_view param;
};

/// What a server does if it is asked for longer requests than the model was made for.
struct BeyondModel {
  std::int64_t length{0};       ///< of the longest request, as the server is told
  std::string_view variable{};  ///< of its environment, without which it does not start; empty: it starts
  std::string_view param{};     ///< of the engine, which stands for the variable
  bool allowed{false};          ///< the parameter is true
  bool counts_scaling{false};   ///< the model's length is its scaled_positions
};

/// What the rest of the program may ask about an engine with given parameters.
struct EngineTraits {
  EngineLimit request_tokens;  ///< prompt plus output of a request; longer requests are rejected
  EngineLimit running;         ///< requests at once
  EngineLimit step_tokens;     ///< tokens computed in one step; may be so large that any prompt fits
  EngineLimit piece_tokens;    ///< tokens of one prompt computed in one step; 0: as many as step_tokens
  BeyondModel beyond_model{};
  bool wants_prefixes{false};  ///< prefix caching is on
  /// The flag of prefix caching. A model with states in place of a KV cache has it off unless it is set; empty: runs
  /// with this engine do not model states.
  std::string_view prefixes_beside_states{};
  bool index_of_its_own{
      false};  ///< cached prefixes lie in the engine's own radix tree, which has its own eviction order
  bool follows_policies{true};  ///< token policies, layers with windows and retention schedules work
  /// PARAMETER=VALUE, under which alone follows_policies is false; empty: no parameter decides.
  std::string_view no_policies_when{};
  /// Attention reads tokens that a policy dropped, as long as their block is held
  bool reads_holes{false};
  bool reads_parts{true};   ///< decode steps may read only a part of the kept tokens (core::ReadRule)
  bool tells_blocks{true};  ///< observers are told the blocks of each request
  /// Warning for a run with a trace without priorities; empty: the engine ignores priorities.
  std::string_view without_priorities{};
  event_log::Rules log{};  ///< scheduler rules that are written into an event log

  /// Most tokens of one prompt that one step computes.
  [[nodiscard]] std::int64_t most_piece_tokens() const {
    const bool less = piece_tokens.value > 0 && piece_tokens.value < step_tokens.value;
    return less ? piece_tokens.value : step_tokens.value;
  }
};

/// The scheduler of an engine: a member of the family "engine".
struct EngineEntry {
  Descriptor descriptor;
  EngineTraits (*traits)(const Choice& engine);
  /// Makes the memory of one replica, empty. `naive`: the simple reference implementation. Errors: an allocator with
  /// which the engine does not work, and the allocator's own errors.
  Result<std::unique_ptr<core::Memory>> (*make_memory)(const Choice& engine, const Choice& allocator,
                                                       const memory::AllocatorRequest& request, bool naive);
  /// REQUIRES: the same entry made the memory; the memory and all that `setup` refers to outlive the replica.
  std::unique_ptr<core::Replica> (*make_replica)(const Choice& engine, const core::ReplicaSetup& setup,
                                                 core::Memory& memory, bool naive);
};

/// An engine. Parts that kvplan does not have are null or empty.
struct Engine {
  const EngineEntry* scheduler{nullptr};      ///< selected by `engine` in a scenario
  const model::PoolRule* pool_rule{nullptr};  ///< selected by `deployment.pool_rule` in a scenario
  std::string_view kernels{};                 ///< engine name under which kernel times are measured
  /// What its server sets by the device, where nothing is said. Null: its defaults are those of the parameters.
  std::vector<ServerDefault> (*defaults_on)(const model::DeviceShape& device){nullptr};
  /// How many layers each pipeline stage has, of as many layers and stages; null: as in vLLM (model/ranks.h).
  std::vector<std::int64_t> (*stage_layers)(std::int64_t layers, std::int64_t stages){nullptr};
  /// Flags of the command that starts its server (server_flags.h)
  std::span<const ServerFlag> (*server_flags)(){nullptr};
  std::span<const replays::EngineReplay* const>
      replays{};  ///< decision replays of the engine, for `kvplan cache`
};

}  // namespace kvplan::scheduling
