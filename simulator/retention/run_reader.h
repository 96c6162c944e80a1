// What decode steps of a run read of a cache that keeps everything: `reader` of a scenario names a member of the family
// "reader" (simulator/readers), of which lengths say how many tokens each KV head fetches at most, and how much
// metadata it goes through for that. The metadata lies beside the tokens of a block and takes memory; where a step is
// timed, what is fetched and gone through is read instead of everything. Choosing takes no time of its own, and nobody
// waits for another memory: all that is kept lies on the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/core/read_rule.h"
#include "simulator/deployment/deployment.h"
#include "simulator/latency/latencies.h"
#include "simulator/readers/catalogue.h"
#include "simulator/scenario/run_budget.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::plan {

struct RunReader {
  readers::ReaderChoice reader;
  core::ReadRule rule;
  latency::PartlyRead partly;
  std::int64_t metadata_bytes{0};  ///< of a token, on the rank that the run is of
  bool at_most{false};             ///< readers::CountedReads::at_most, of any head
  double heads_in_part{0};         ///< share of the model's KV heads that read a part

  /// Sentences for a report.
  [[nodiscard]] std::vector<std::string> assumptions() const;
};

/// The scenario's reader on a model. Errors (the field begins with "reader"): tables of heads that cannot be read or
/// are of another shape, parameters of which lengths do not say enough, stages whose layers keep different metadata.
/// REQUIRES: there is one, and lengths say what it reads (ReaderKind::counted); the model stores keys by head.
Result<RunReader> run_reader(const Scenario& scenario, const model::ModelShape& model, const RankBytes& rank,
                             const ScoresOpener& open);

}  // namespace kvplan::plan
