// The tokens of a run: the model on its ranks, the tokens of requests that the run keeps (retention.h), and the memory
// that they need.
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

namespace kvplan::runs {

/// Memory that a token needs, on the rank that the run simulates.
struct TokenMemory {
  attention::CellUnits cells{};  ///< scales of the format, and data of a policy or reader, count as metadata
  std::int64_t tables{1};        ///< block tables of a request; cells.per_token is a multiple
  std::int64_t token_bytes{0};   ///< of all cells, with their metadata
  std::int64_t alloc_units_beyond{0};  ///< memory::AllocatorRequest::alloc_units_beyond
};

using RetentionKind =
    std::variant<KeepAll, KeepByRule, KeepInterval, KeepCounted, KeepRecorded, KeepSets, KeepEncoded>;

struct RunTokens {
  RunParts parts;  ///< parts of the run that follow from the scenario and its model
  model::ModelShape model;
  ModelOnRanks placed;
  TokenMemory memory;
  PrefixRule prefixes;
  std::optional<RunReader> reader;  ///< set if decode steps read only a part; then every token is kept
  RetentionKind kind;

  [[nodiscard]] const Retention& retention() const {
    return *std::visit([](const Retention& each) { return &each; }, kind);
  }
};

/// Errors: a model, recording or side file that cannot be opened, a recording of another shape than the model, and
/// those of place_model, place_policy, encode_rank and run_reader. Appends notes on what is ignored or assumed.
Result<RunTokens> make_run_tokens(const Scenario& scenario, const RetentionFiles& open,
                                  std::vector<std::string>& warnings, std::vector<std::string>& assumptions);

}  // namespace kvplan::runs
