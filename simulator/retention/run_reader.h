// What decode steps of a run read from a cache that keeps every token. A scenario's `reader` names a member of the
// family "reader" (simulator/readers). From lengths it computes how many tokens each KV head fetches at most, and how
// much metadata it scans to choose them. The metadata is stored beside the tokens of a block and takes memory. If
// steps have times, only fetched tokens and scanned metadata are read. The choice itself takes no time, and nothing
// waits for another memory: all tokens stay on the device.
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
  std::int64_t metadata_bytes{0};  ///< of a token, on the rank that the run simulates
  bool at_most{false};             ///< readers::CountedReads::at_most, of any head
  double heads_in_part{0};         ///< fraction of the model's KV heads that read only a part

  /// Sentences for a report.
  [[nodiscard]] std::vector<std::string> assumptions() const;
};

/// The scenario's reader on a model. Errors (the field begins with "reader"): tables of heads that cannot be read or
/// have another shape than the model, parameters for which lengths do not say enough, stages with layers that keep
/// different metadata. REQUIRES: the scenario has a reader, and lengths say what it reads (ReaderKind::counted); the
/// model stores keys by head.
Result<RunReader> run_reader(const Scenario& scenario, const model::ModelShape& model, const RankBytes& rank,
                             const ScoresOpener& open);

}  // namespace kvplan::runs
