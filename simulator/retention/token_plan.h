// The tokens of a run: the model on its ranks, what the run keeps of the tokens of its requests (retention.h), and what
// that needs of memory.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "simulator/deployment/deployment.h"
#include "simulator/retention/keep_all.h"
#include "simulator/retention/keep_counted.h"
#include "simulator/retention/keep_encoded.h"
#include "simulator/retention/keep_interval.h"
#include "simulator/retention/keep_recorded.h"
#include "simulator/retention/keep_sets.h"
#include "simulator/retention/retention_files.h"
#include "simulator/retention/run_reader.h"
#include "simulator/scenario/combinations.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::plan {

/// What a token needs of memory, on the rank that the run is of.
struct TokenMemory {
  attention::CellUnits
      cells{};             ///< scales of the format, and what a policy or reader keeps, are their metadata
  std::int64_t tables{1};  ///< block tables of a request; cells.per_token is a multiple
  std::int64_t token_bytes{0};         ///< of all cells, with their metadata
  std::int64_t alloc_units_beyond{0};  ///< memory::AllocatorRequest::alloc_units_beyond
};

using RetentionKind =
    std::variant<KeepAll, KeepByRule, KeepInterval, KeepCounted, KeepRecorded, KeepSets, KeepEncoded>;

struct TokenPlan {
  RunParts parts;  ///< of the run, as far as the scenario and its model tell them
  model::ModelShape model;
  ModelOnRanks placed;
  TokenMemory memory;
  PrefixRule prefixes;
  std::optional<RunReader> reader;  ///< decode steps read a part; then every token is kept
  RetentionKind kind;

  [[nodiscard]] const Retention& retention() const {
    return std::visit([](const Retention& each) -> const Retention& { return each; }, kind);
  }
};

/// Errors: a model, recording or side file that cannot be opened, a recording of another shape than the model, those of
/// place_model, place_policy, encode_rank and run_reader. Appends what is ignored or assumed.
Result<TokenPlan> make_token_plan(const Scenario& scenario, const TokenPlanFiles& open,
                                  std::vector<std::string>& warnings, std::vector<std::string>& assumptions);

}  // namespace kvplan::plan
