// The arithmetic that turns observers' counts into a result: latency statistics, memory means, sums over replicas.
#pragma once

#include <optional>
#include <vector>

#include "simulator/core/parted_latency.h"
#include "simulator/observe/integral.h"
#include "simulator/run/run.h"

namespace kvplan::runs {

/// Fills counts, tokens, latencies and targets met, which follow from the records. Moves the records into the result.
void summarize_requests(const core::Workload& workload, std::vector<observe::RequestRecord> records,
                        const Scenario& scenario, const core::OutsideTimes& outside_of, RunResult& result);

/// Results of a replica's ledger and overlays, in counts.
struct MemoryCounts {
  std::array<Wide, observe::kStates> cell_ticks{};
  std::array<Wide, observe::kOverlays> overlay_ticks{};
  SimTime peak_time{};
  observe::StateCounts peak_cells{};
  observe::OverlayCounts peak_overlays{};
  // By kind of group, if layers lie in groups:
  std::vector<std::array<Wide, observe::kStates>> kind_ticks{};
  std::vector<observe::StateCounts> peak_kinds{};
};

/// The integrals cover the makespan; if it is 0 there are no means.
MemorySummary summarize_memory(const core::MemoryLayout& layout, const MemoryCounts& counts, Ticks makespan);

/// Fills memory, batch and throughput of the fleet from its replicas and the makespan.
void sum_replicas(RunSummary& result);

/// Fills the bytes that tensor parallelism stores more than once. REQUIRES: ranks and memory are filled.
void count_replicated(RunSummary& result);

/// Ranks of all replicas together; each rank is a device.
std::int64_t gpus_of(const RunSummary& result);

/// The cost of a million output tokens at the mean rate of the run: the cost of an hour, divided by the output tokens
/// that completed requests got in an hour of [0, makespan], times a million. Absent without prices, if no time passed,
/// or if there was no output token.
std::optional<double> cost_per_million_output_tokens(const RunSummary& result);

}  // namespace kvplan::runs
