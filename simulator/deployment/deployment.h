// The deployment of a scenario: its device, how the model is divided among ranks, and from both the bytes of a token
// and the pool of a run. A run simulates one rank of the stage with the smallest pool in tokens. The other ranks of
// that stage do the same; the ranks of other stages hold the same tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/core/allocator.h"
#include "simulator/model/pool.h"
#include "simulator/scenario/run_format.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::runs {

/// Bytes of a token's keys and values on the ranks.
struct RankBytes {
  std::int64_t tensor_ranks{1}, stages{1};
  std::vector<std::int64_t> stage_layers{};  ///< of each stage; empty: as vLLM divides them
  std::int64_t stage{0};                     ///< the stage that the run simulates
  std::int64_t first_layer{0}, layers{0};    ///< of that stage
  std::int64_t token_bytes{0};               ///< on one rank of that stage, scales included
  std::int64_t scale_bytes{0};               ///< part of token_bytes: scales and zero points of the format
  std::int64_t all_token_bytes{0};           ///< on all ranks of all stages
  std::int64_t replicated_token_bytes{0};    ///< part of all_token_bytes that is stored more than once

  [[nodiscard]] std::int64_t ranks() const { return tensor_ranks * stages; }
};

/// A model on its ranks, and the pool of one rank.
struct ModelOnRanks {
  RankBytes bytes;
  std::int64_t step_token_bytes{0};  ///< of a token on the ranks that a step passes, one rank of each stage
  std::optional<model::Pool> pool;   ///< absent if the scenario gives the pool
  std::vector<model::Obstacle> obstacles{};  ///< why the engine cannot start; empty if the pool is given
  /// The scenario's format, applied to the model; absent only before the model is placed.
  std::optional<RunFormat> format{};
  std::optional<RunFormat> window_format{};
  std::optional<model::KvFormat> places{};  ///< set if layers with a window have their own format

  /// The format of a token's bytes.
  [[nodiscard]] const model::KvFormat& of_token() const { return places ? *places : format->of_token; }
  [[nodiscard]] LayerFormats layer_formats() const {
    return {.format = *format, .of_windows = window_format ? &*window_format : nullptr, .places = of_token()};
  }
};

/// Places the model on its ranks. Errors: as model::derive_pool; if the pool is given, more stages than layers, or a
/// format for other layers; those of format_on_model, which needs `open`. Appends warnings and assumptions.
Result<ModelOnRanks> place_model(const Scenario& scenario, const model::ModelShape& shape,
                                 const SideOpener& open, std::vector<std::string>& warnings,
                                 std::vector<std::string>& assumptions);

/// All that keeps the engine from starting, found without a run: weights and buffers that leave no room for a KV cache,
/// other memory that has to fit, a longest request that the pool cannot hold. Absent if the pool is given, since the
/// rest of the device is unknown then. Errors: those of place_model that are not such obstacles.
Result<std::optional<std::vector<model::Obstacle>>> obstacles_of(const Scenario& scenario,
                                                                 const model::ModelShape& shape,
                                                                 const SideOpener& open);

/// Most tokens of one request that a step computes.
std::int64_t step_tokens(const Scenario& scenario);

/// How the scenario's allocator divides a derived pool; found without a run, and without the scenario's token policy.
struct PoolLayout {
  core::MemoryLayout layout;
  /// Most allocation units that a request of max_model_len holds; absent if that does not follow from its length
  /// alone.
  std::optional<std::int64_t> longest_alloc_units;

  /// Blocks as engines report them, null block included.
  [[nodiscard]] std::int64_t all_alloc_units() const {
    return layout.alloc_units + (layout.null_block ? 1 : 0);
  }
  /// Tokens that fit; with groups of layers, the tokens for which every layer has room.
  [[nodiscard]] std::int64_t tokens() const;
};
/// Errors: the allocator has allocation units that are not whole tokens, or stores nothing; errors of creating it.
/// REQUIRES: the pool is derived.
Result<PoolLayout> lay_out_pool(const Scenario& scenario, const model::ModelShape& shape,
                                const ModelOnRanks& placed);

}  // namespace kvplan::runs
