// The part of the cache that decode steps of a run read if every token is kept (sparse attention). A scenario's
// `reader` names a member of the family "reader" (simulator/readers). From lengths it computes how many tokens each KV
// head fetches at most, and how much metadata it scans to choose them. The metadata is stored beside the tokens of a
// block and takes memory. If steps have times, only fetched tokens and scanned metadata are read. Choosing takes no
// time, and no other memory is involved: all tokens stay on the device.
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

namespace kvplan::runs {

struct RunReader {
  readers::ReaderChoice reader;
  core::ReadRule rule;
  latency::PartlyRead partly;
  std::int64_t metadata_bytes{0};  ///< metadata bytes of a token, on the rank that the run simulates
  bool at_most{false};             ///< true if readers::CountedReads::at_most is true for any head
  double heads_in_part{0};         ///< fraction of the model's KV heads that read only a part

  /// Sentences for a report.
  [[nodiscard]] std::vector<std::string> assumptions() const;
};

/// Applies the scenario's reader to a model. Errors (the field begins with "reader"): tables of heads that cannot be
/// read or have another shape than the model, parameters with which reads do not follow from lengths, stages with
/// layers that keep different metadata. REQUIRES: the scenario has a reader, and its reads follow from lengths
/// (ReaderKind::counted); the model stores keys by head.
Result<RunReader> run_reader(const Scenario& scenario, const model::ModelShape& model, const RankBytes& rank,
                             const ScoresOpener& open);

}  // namespace kvplan::runs
