// What a scenario says of the deployment: its device, how the model is divided among ranks, and from both the bytes of
// a token's place and the pool of a run. A run is one of a rank of the stage whose pool holds fewest tokens; the other
// ranks of its stage are alike, those of other stages hold the same tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/model/pool.h"
#include "simulator/plan/scenario.h"

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
struct Placement {
  RankBytes bytes;
  std::int64_t step_token_bytes{0};  ///< of a token on the ranks that a step passes, one of each stage
  std::optional<model::Pool> pool;   ///< where it is derived
};

/// Errors: as model::derive_pool; and where the pool is given, more stages than layers, or a format for other layers.
/// Appends what is odd and what is assumed.
Result<Placement> place_model(const Scenario& scenario, const model::ModelShape& shape,
                              std::vector<std::string>& warnings, std::vector<std::string>& assumptions);

}  // namespace kvplan::plan
