// What a report says of a run: plain numbers that reports, comparisons and the desktop program format.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "simulator/deployment/prices.h"
#include "simulator/observe/kind_sums.h"
#include "simulator/observe/ledger.h"
#include "simulator/observe/overlays.h"
#include "simulator/retention/token_plan.h"
#include "simulator/scenario/percentile_targets.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::plan {

/// Statistics of a latency over completed requests, seconds; percentiles by nearest rank. Absent without a
/// request.
struct LatencySummary {
  double mean{0}, p50{0}, p90{0}, p95{0}, p99{0}, max{0};
};

/// What the groups of one kind hold; states of what nobody holds are 0.
struct KindMemory {
  model::LayerKind kind;
  std::array<double, observe::kStates> mean_bytes{};  ///< 0 where no time passed
  observe::StateCounts peak_bytes{};
};

/// One replica, or the sum over replicas at one instant.
struct MemorySummary {
  std::int64_t capacity_bytes{0};
  bool timed{false};                                     ///< time passed, so that there are means
  std::array<double, observe::kStates> mean_bytes{};     ///< over [0, makespan]
  std::array<double, observe::kStates> mean_fraction{};  ///< of the capacity; sums to 1
  double peak_time_s{0};
  observe::StateCounts peak_bytes{};
  // Beside the states:
  std::array<double, observe::kOverlays> mean_overlay_bytes{};
  observe::OverlayCounts peak_overlay_bytes{};
  /// Where layers lie in groups: part of the above, by kind of group.
  std::vector<KindMemory> kinds{};
};

/// What requests of a replica can hold, as far as a report says it.
struct PoolShape {
  std::int64_t alloc_unit_tokens{1};  ///< 1 where allocation units are not of whole tokens
  std::int64_t alloc_unit_bytes{0};   ///< 0: not known (a report from before there was this key)
  std::int64_t alloc_units{0};
  std::int64_t token_bytes{1};
  std::int64_t metadata_bytes_per_token{0};  ///< of token_bytes' cells, beside them
  std::int64_t capacity_bytes{0};
};
PoolShape pool_shape(const core::MemoryLayout& layout);

struct ReplicaSummary {
  std::int64_t requests{0}, completed{0}, preemptions{0}, iterations{0};
  PoolShape pool;
  std::optional<MemorySummary> memory;  ///< absent where nothing ever ran
  std::optional<double> mean_running;   ///< absent where no time passed
  std::int64_t max_running{0};
  /// That nobody held (cached, stranded, free) at its own peak; 0 too in a report from before there was this key.
  std::int64_t least_idle_bytes{0};
};

/// What placing cost, over all replicas.
struct PlacingSummary {
  std::int64_t copies{0}, copied_bytes{0};           ///< ranges copied to a longer one
  std::int64_t compactions{0}, compaction_bytes{0};  ///< passes in which ranges slid together
  Ticks delay;                                       ///< by which steps were longer
  std::optional<double> delay_fraction;              ///< of the replicas' time; absent where none passed
  [[nodiscard]] bool any() const { return copies > 0 || compactions > 0 || delay.count > 0; }
};

/// How much of a run was driven by recorded attention.
struct Coverage {
  std::int64_t recordings{0};  ///< given
  std::int64_t used{0};        ///< distinct ones that drove a request: the sample behind what the policy kept
  std::int64_t driven_requests{0};        ///< requests admitted at least once, driven by a recording
  std::int64_t extrapolated_requests{0};  ///< of these, by one that stands for a model of another shape
  std::optional<double> driven_request_fraction;       ///< of all that were admitted
  std::optional<double> driven_byte_seconds_fraction;  ///< of the bytes x time that requests held
};

/// Whether requests came faster than they were served. Of all requests that were not rejected; a backlog is those that
/// have arrived and have not been scheduled once.
struct Saturation {
  /// Until all of the backlog at the last arrival had been scheduled it took more than 1 / kSaturatedShareOf of the
  /// time from the first arrival to the last. Absent where all arrived at one time: there is no rate.
  ///
  /// Why this rule: where requests come at r times the rate that is served, the backlog grows by (r - 1) of what is
  /// served, and takes (r - 1) times as long as it grew until it is gone, whatever the length of the trace. Below that
  /// rate a request waits for steps and slots alone, which does not grow with the trace. The time that the last
  /// requests are served for does not count: they take it at any rate.
  std::optional<bool> saturated;
  std::int64_t backlog{0};  ///< right after the passes of the last arrival's moment
  Ticks drain;              ///< from the last arrival until all of that was scheduled
};
/// Requests that come at most a twentieth faster than they are served count as served: a burst at the end of a trace
/// looks like that.
inline constexpr std::int64_t kSaturatedShareOf = 20;

/// All that a report says, and nothing else: what is read back of a report is this, complete, so whatever takes a
/// summary says of a stored run what it said of the fresh one.
struct RunSummary {
  Scenario scenario;
  std::string trace_digest;
  std::int64_t trace_requests{0};  ///< in the file; `limit` may take fewer
  std::vector<std::string> warnings, assumptions;

  std::int64_t arrived{0}, completed{0}, rejected{0}, unfinished{0}, preempted{0};
  std::int64_t preemptions{0}, iterations{0};
  Ticks makespan;                                  ///< last finish less the trace's first arrival
  std::int64_t input_tokens{0}, output_tokens{0};  ///< of completed requests
  std::int64_t computed_tokens{0}, recomputed_tokens{0}, prefix_hit_tokens{0}, rehit_tokens{0};
  std::int64_t largest_request_tokens{0};  ///< prompt and output of the largest request that was admitted
  std::optional<double> mean_running;
  std::int64_t max_running{0};
  std::optional<LatencySummary> ttft, tpot, e2e, queue;
  std::optional<double> requests_per_s, output_tokens_per_s;
  std::int64_t capacity_bytes{0};
  std::optional<MemorySummary> memory;
  std::vector<model::PoolItem>
      derivation;   ///< of the pool, a device's memory item by item; empty where it was given
  RankBytes ranks;  ///< of a replica
  /// Bytes of live tokens that tensor parallelism stores again, on all ranks together: beside the states. Absent where
  /// no time passed, or nothing ran.
  std::optional<double> replicated_mean_bytes;
  std::optional<std::int64_t> replicated_peak_bytes;
  std::int64_t evicted_tokens{0}, evicted_blocks{0}, hole_bytes_peak{0};
  std::int64_t compactions{0}, compaction_bytes{0};  ///< of requests, with placement=compact
  PlacingSummary placing;
  std::optional<Coverage> coverage;  ///< where the policy is replayed
  /// Absent where there are no targets that each request meets or not.
  std::optional<double> slo_met_fraction, goodput_per_s;
  /// The share is at least Scenario::target_fraction, and all percentiles hold; absent without targets.
  std::optional<bool> slo_met;
  std::vector<PercentileOutcome> percentiles;  ///< of Scenario::percentiles, in their order
  std::vector<ReplicaSummary> replicas;
  // Three meanings of "fits"; the third is slo_met:
  std::optional<bool> starts;              ///< there are no obstacles; absent where the pool was given
  std::vector<model::Obstacle> obstacles;  ///< of the engine's start (deployment/deployment.h)
  std::optional<bool> unhindered;        ///< nothing was rejected or preempted; absent where nothing arrived
  std::optional<Saturation> saturation;  ///< absent where no request was accepted
  std::optional<Cost> cost;              ///< absent without a price list
};

/// Requests came faster than they were served: what they waited grows with the trace and is no latency.
inline bool is_saturated(const RunSummary& r) {
  return r.saturation && r.saturation->saturated.value_or(false);
}

}  // namespace kvplan::plan
