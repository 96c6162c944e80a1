// What a scenario says of the deployment: its device, how the model is divided among ranks, and from both the bytes of
// a token's place and the pool of a run. A run is one of a rank of the stage whose pool holds fewest tokens; the other
// ranks of its stage are alike, those of other stages hold the same tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/core/allocator.h"
#include "simulator/model/pool.h"
#include "simulator/scenario/run_format.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::plan {

/// A token's keys and values on the ranks.
struct RankBytes {
  std::int64_t tensor_ranks{1}, stages{1};
  std::int64_t stage{0};                   ///< that the run is of
  std::int64_t first_layer{0}, layers{0};  ///< of that stage
  std::int64_t token_bytes{0};             ///< on one of its ranks, scales included
  std::int64_t scale_bytes{0};             ///< of it, scales and zero points of the format
  std::int64_t all_token_bytes{0};         ///< on all ranks of all stages
  std::int64_t replicated_token_bytes{0};  ///< of those, what is stored again

  [[nodiscard]] std::int64_t ranks() const { return tensor_ranks * stages; }
};

/// A model on its ranks, and the pool of one.
struct ModelOnRanks {
  RankBytes bytes;
  std::int64_t step_token_bytes{0};  ///< of a token on the ranks that a step passes, one of each stage
  std::optional<model::Pool> pool;   ///< where it is derived
  std::vector<model::Obstacle> obstacles{};  ///< of the engine's start; none where the pool is given
  /// The scenario's, as they are on the model; the first is absent only before it is placed.
  std::optional<RunFormat> format{};
  std::optional<RunFormat> window_format{};
  std::optional<model::KvFormat> places{};  ///< where layers with a window have a format of their own

  /// Of a token's place.
  [[nodiscard]] const model::KvFormat& of_token() const { return places ? *places : format->of_token; }
  [[nodiscard]] LayerFormats layer_formats() const {
    return {.format = *format, .of_windows = window_format ? &*window_format : nullptr, .places = of_token()};
  }
};

/// Errors: as model::derive_pool; and where the pool is given, more stages than layers, or a format for other layers;
/// those of format_on_model, which `open` is for. Appends what is odd and what is assumed.
Result<ModelOnRanks> place_model(const Scenario& scenario, const model::ModelShape& shape,
                                 const SideOpener& open, std::vector<std::string>& warnings,
                                 std::vector<std::string>& assumptions);

/// What keeps the engine from starting, without a run: weights and buffers without room for KV cache, what has to fit
/// beside, a longest request that the pool does not hold. Absent where the pool is given: nobody said what it is a part
/// of. Errors: those of place_model that are none of these.
Result<std::optional<std::vector<model::Obstacle>>> obstacles_of(const Scenario& scenario,
                                                                 const model::ModelShape& shape,
                                                                 const SideOpener& open);

/// Most tokens of a request that one step computes.
std::int64_t step_tokens(const Scenario& scenario);

/// How the scenario's allocator divides a derived pool, without a run and its token policy.
struct PoolLayout {
  core::MemoryLayout layout;
  /// Allocation units that a request of max_model_len holds at most; absent where that is not said by its length alone.
  std::optional<std::int64_t> longest_alloc_units;

  /// As engines report it, the null block included.
  [[nodiscard]] std::int64_t all_alloc_units() const {
    return layout.alloc_units + (layout.null_block ? 1 : 0);
  }
  /// Tokens that fit; where layers lie in groups, tokens that every layer has a place for.
  [[nodiscard]] std::int64_t tokens() const;
};
/// Errors: an allocator whose allocation units are not of whole tokens, or that keeps nothing; as it is made.
/// REQUIRES: the pool is derived.
Result<PoolLayout> lay_out_pool(const Scenario& scenario, const model::ModelShape& shape,
                                const ModelOnRanks& placed);

}  // namespace kvplan::plan
