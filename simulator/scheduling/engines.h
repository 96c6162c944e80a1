// The engine family: who is served next, by which scheduler, on which memory. A member is one file engine_NAME.cpp with
// an `EngineEntry` and one line in engines.cpp; its replicas have a folder of their own beside it.
//
// Whoever wants to know something of an engine asks its traits: what its parameters are called is its own business.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "simulator/base/component.h"
#include "simulator/base/result.h"
#include "simulator/core/engine.h"
#include "simulator/core/replica.h"
#include "simulator/memory/allocators.h"

namespace kvplan::scheduling {

/// A limit, and the parameter under which users know it.
struct EngineLimit {
  std::int64_t value{0};
  std::string_view param;
};

/// What the rest of the program may want to know of an engine as it is set up.
struct EngineTraits {
  EngineLimit request_tokens;    ///< prompt and output of a request; longer ones are rejected
  EngineLimit running;           ///< requests at once
  EngineLimit step_tokens;       ///< computed in one step; its value may be beyond any prompt
  EngineLimit piece_tokens;      ///< of one prompt in one step; the value 0: as many as a step
  bool wants_prefixes{false};    ///< equal prefixes are to be found again
  bool index_of_its_own{false};  ///< finds them in a tree of its own, with its own order in which contents go
  bool follows_policies{true};   ///< token policies, windows of layers and courses
  bool reads_holes{false};       ///< attention reads what a policy dropped, as long as it is held
  bool reads_parts{true};        ///< decode steps may read a part of what is kept (core::ReadRule)
  bool tells_blocks{true};       ///< observers are told which block is whose
  /// Who waits is asked, and who runs gives way, by priority; of those that decode some may then compute nothing in a
  /// step
  bool by_priority{false};
  bool prefills_apart{false};  ///< while prompts are computed, requests that decode wait
  std::string_view kernels{};  ///< the name under which times of its kernels are measured

  /// Most tokens of one prompt in one step.
  [[nodiscard]] std::int64_t most_piece_tokens() const {
    const bool less = piece_tokens.value > 0 && piece_tokens.value < step_tokens.value;
    return less ? piece_tokens.value : step_tokens.value;
  }
};

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

std::span<const EngineEntry* const> engines();
Catalogue engine_descriptors();
/// REQUIRES: the choice is of family "engine".
const EngineEntry& engine_entry(const Choice& choice);
/// Of the choice's entry.
EngineTraits engine_traits(const Choice& choice);

}  // namespace kvplan::scheduling
