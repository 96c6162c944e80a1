// Applies a scenario's token policy to the rank that the run simulates (placed_policy.h).
#pragma once

#include <string>
#include <vector>

#include "simulator/model/model_shape.h"
#include "simulator/retention/placed_policy.h"
#include "simulator/retention/retention_files.h"
#include "simulator/scenario/combinations.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::runs {

/// Inputs of place_policy.
struct PolicyPlace {
  const Scenario& scenario;
  const model::ModelShape& model;
  const ModelOnRanks& placed;
  memory::TablePer table_per{memory::TablePer::kRequest};
  bool replayed{false};  ///< recordings of attention decide which tokens are dropped
  /// Layers and KV heads of the recordings, if they differ from the model's and are used in their place.
  std::optional<TrackShape> standing{};
};

/// Adds the parts of the run that follow from the model, warnings and assumptions. Errors: a budget that does not fit,
/// tables of heads or retained sets that cannot be read or have another shape than the model, and combinations that do
/// not work. REQUIRES: the scenario has a policy, and its requests follow courses.
Result<PlacedPolicy> place_policy(const PolicyPlace& place, const RetentionFiles& open, RunParts& parts,
                                  std::vector<std::string>& warnings, std::vector<std::string>& assumptions);

/// KV heads of the rank, summed over its layers.
std::int64_t kv_heads_of_rank(const model::ModelShape& model, const RankBytes& rank);

}  // namespace kvplan::runs
