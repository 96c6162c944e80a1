// The arithmetic between observers and a result: latency statistics, memory means, sums over replicas.
#pragma once

#include <optional>
#include <vector>

#include "simulator/observe/integral.h"
#include "simulator/run/run.h"

namespace kvplan::plan {

/// Fills what follows from the records: counts, tokens, latencies, targets met. Takes the records into the
/// result.
void summarize_requests(const core::Workload& workload, std::vector<observe::RequestRecord> records,
                        const Scenario& scenario, RunResult& result);

/// What a replica's ledger and overlays came to, in counts.
struct MemoryCounts {
  std::array<Wide, observe::kStates> cell_ticks{};
  std::array<Wide, observe::kOverlays> overlay_ticks{};
  SimTime peak_time{};
  observe::StateCounts peak_cells{};
  observe::OverlayCounts peak_overlays{};
  // By kind of group, where layers lie in groups:
  std::vector<std::array<Wide, observe::kStates>> kind_ticks{};
  std::vector<observe::StateCounts> peak_kinds{};
};

/// The integrals cover the makespan; where that is 0 there are no means.
MemorySummary summarize_memory(const core::MemoryLayout& layout, const MemoryCounts& counts, Ticks makespan);

/// Memory, batch and throughput of the fleet from those of its replicas and the makespan.
void sum_replicas(RunSummary& result);

/// Fills what tensor parallelism stores again. REQUIRES: ranks and memory are there.
void count_replicated(RunSummary& result);

/// Ranks of all replicas, each a device of its own.
std::int64_t gpus_of(const RunSummary& result);

/// What the deployment costs while it makes a million output tokens, at the mean rate of the run: the cost of an hour
/// through the output tokens of completed requests in an hour of [0, makespan], times a million. Absent without prices,
/// and where no time passed or no token was made.
std::optional<double> cost_per_million_output_tokens(const RunSummary& result);

}  // namespace kvplan::plan
