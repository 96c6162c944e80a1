// The results of a run that its report contains: plain numbers for reports, comparisons and the desktop program.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/core/parted_latency.h"
#include "simulator/deployment/deployment.h"
#include "simulator/deployment/prices.h"
#include "simulator/observe/kind_sums.h"
#include "simulator/observe/ledger.h"
#include "simulator/observe/overlays.h"
#include "simulator/scenario/percentile_targets.h"
#include "simulator/scenario/scenario.h"
#include "simulator/workload/answers.h"

namespace kvplan::runs {

/// Statistics of a latency over completed requests, in seconds; percentiles by nearest rank. Absent without such
/// requests.
struct LatencySummary {
  double mean{0}, p50{0}, p90{0}, p95{0}, p99{0}, max{0};
};

/// Where time goes: the parts of steps (core::StepPart), then `outside`: what completed requests take before the engine
/// has them.
struct StepTimeSummary {
  /// Sums over the steps of all replicas; `outside`: over requests, which take it at the same time
  std::array<double, core::kStepParts + 1> seconds{};
  /// Shares of the time in steps; `outside`: of the sum of E2E. 0 if that is no time
  std::array<double, core::kStepParts + 1> shares{};
};
inline constexpr std::array<std::string_view, core::kStepParts + 1> kStepTimeNames{
    "weights", "experts", "decode_attention", "prefill_attention", "links", "launches", "outside"};

/// The held memory of all groups of one kind; the states of idle memory are 0.
struct KindMemory {
  model::LayerKind kind;
  std::array<double, observe::kStates> mean_bytes{};  ///< 0 if no time passed
  observe::StateCounts peak_bytes{};
};

/// One replica, or the sum over replicas at one instant.
struct MemorySummary {
  std::int64_t capacity_bytes{0};
  bool timed{false};                                     ///< true: time passed, so means exist
  std::array<double, observe::kStates> mean_bytes{};     ///< over [0, makespan]
  std::array<double, observe::kStates> mean_fraction{};  ///< shares of the capacity; their sum is 1
  double peak_time_s{0};
  observe::StateCounts peak_bytes{};
  // In addition to the states:
  std::array<double, observe::kOverlays> mean_overlay_bytes{};
  observe::OverlayCounts peak_overlay_bytes{};
  /// If layers lie in groups: the same values by kind of group.
  std::vector<KindMemory> kinds{};
};

/// The properties of a replica's pool that a report contains.
struct PoolShape {
  std::int64_t alloc_unit_tokens{1};  ///< 1 if allocation units are not whole tokens
  std::int64_t alloc_unit_bytes{0};   ///< 0: unknown (a report written before this key existed)
  std::int64_t alloc_units{0};
  std::int64_t token_bytes{1};
  std::int64_t metadata_bytes_per_token{0};  ///< bytes beside the token_bytes of the cells
  std::int64_t capacity_bytes{0};
};
PoolShape pool_shape(const core::MemoryLayout& layout);

struct ReplicaSummary {
  std::int64_t requests{0}, completed{0}, preemptions{0}, iterations{0};
  PoolShape pool;
  std::optional<MemorySummary> memory;  ///< absent if nothing ever ran
  std::optional<double> mean_running;   ///< absent if no time passed
  std::int64_t max_running{0};
  /// Idle bytes (cached, stranded, free) at the replica's own peak; 0 too in a report written before this key
  /// existed.
  std::int64_t least_idle_bytes{0};
};

/// The costs of placing, over all replicas.
struct PlacingSummary {
  std::int64_t copies{0}, copied_bytes{0};  ///< ranges copied to a longer range
  /// Passes in which ranges slid together, and the bytes moved
  std::int64_t compactions{0}, compaction_bytes{0};
  Ticks delay;                           ///< time added to steps
  std::optional<double> delay_fraction;  ///< share of the replicas' time; absent if no time passed
  [[nodiscard]] bool any() const { return copies > 0 || compactions > 0 || delay.count > 0; }
};

/// How much of a run was driven by recorded attention.
struct Coverage {
  std::int64_t recordings{0};  ///< number of given recordings
  /// Different recordings that drove a request: the sample on which the policy's kept tokens rest
  std::int64_t used{0};
  std::int64_t driven_requests{0};  ///< requests that were admitted at least once and driven by a recording
  std::int64_t extrapolated_requests{0};  ///< of these, driven by a recording of a model of another shape
  std::optional<double> driven_request_fraction;       ///< share of all admitted requests
  std::optional<double> driven_byte_seconds_fraction;  ///< share of the bytes x time that requests held
};

/// Whether requests arrived faster than they were served. Counts requests that were not rejected. The backlog is the
/// requests that have arrived and have never been scheduled.
struct Saturation {
  /// True if scheduling the whole backlog of the last arrival took longer than 1 / kSaturatedShareOf of the time from
  /// the first arrival to the last. Absent if all arrived at one time: then there is no rate.
  ///
  /// Why this rule: if requests arrive at r times the rate at which they are served, the backlog grows by (r - 1) of
  /// the served requests. It then takes (r - 1) times as long to vanish as it grew, whatever the length of the trace.
  /// Below that rate a request waits only for steps and slots, which does not grow with the trace. The time for serving
  /// the last requests does not count, since they need it at any rate.
  std::optional<bool> saturated;
  std::int64_t backlog{0};  ///< right after the passes at the time of the last arrival
  Ticks drain;              ///< from the last arrival until the backlog was scheduled
};
/// If requests arrive at most a twentieth faster than they are served, the run is not called saturated, because a burst
/// at the end of a trace looks the same.
inline constexpr std::int64_t kSaturatedShareOf = 20;

/// All values of a report, and nothing else. A summary read back from a report is complete: every function that takes a
/// summary gives the same for a stored run as for a new one.
struct RunSummary {
  Scenario scenario;
  std::string trace_digest;
  std::int64_t trace_requests{0};  ///< requests in the file; `limit` may use fewer
  std::vector<std::string> warnings, assumptions;

  std::int64_t arrived{0}, completed{0}, rejected{0}, unfinished{0}, preempted{0};
  std::int64_t preemptions{0}, iterations{0};
  Ticks makespan;                                  ///< last finish minus the trace's first arrival
  std::int64_t input_tokens{0}, output_tokens{0};  ///< of completed requests
  std::int64_t computed_tokens{0}, recomputed_tokens{0}, prefix_hit_tokens{0}, rehit_tokens{0};
  std::int64_t largest_request_tokens{0};  ///< prompt and output tokens of the largest admitted request
  std::optional<double> mean_running;
  std::int64_t max_running{0};
  std::optional<LatencySummary> ttft, tpot, e2e, queue;
  std::optional<StepTimeSummary> step_time;  ///< absent if the latency model does not know parts of steps
  std::optional<double> requests_per_s, output_tokens_per_s;
  std::int64_t capacity_bytes{0};
  std::optional<MemorySummary> memory;
  std::vector<model::PoolItem>
      /// How the pool follows from a device's memory, item by item; empty if the pool was given
      derivation;
  RankBytes ranks;  ///< of a replica
  /// Bytes of live tokens that tensor parallelism stores more than once, over all ranks; not part of the states.
  /// Absent if no time passed, or nothing ran.
  std::optional<double> replicated_mean_bytes;
  std::optional<std::int64_t> replicated_peak_bytes;
  std::int64_t evicted_tokens{0}, evicted_blocks{0}, hole_bytes_peak{0};
  std::int64_t compactions{0}, compaction_bytes{0};  ///< moves of tokens by requests with placement=compact
  PlacingSummary placing;
  std::optional<workload::AnswerCounts>
      answers;                       ///< present if the trace has later turns, and prefixes are cached
  std::optional<Coverage> coverage;  ///< present if the policy is replayed
  /// Absent if no target applies to single requests.
  std::optional<double> slo_met_fraction, goodput_per_s;
  /// True if the share is at least Scenario::target_fraction, and all percentiles hold; absent without targets.
  std::optional<bool> slo_met;
  std::vector<PercentileOutcome> percentiles;  ///< in the order of Scenario::percentiles
  std::vector<ReplicaSummary> replicas;
  // Three meanings of "fits": starts, unhindered, slo_met.
  std::optional<bool> starts;              ///< the engine can start; absent if the pool was given
  std::vector<model::Obstacle> obstacles;  ///< why the engine cannot start (deployment/deployment.h)
  std::optional<bool> unhindered;          ///< nothing was rejected or preempted; absent if nothing arrived
  std::optional<Saturation> saturation;    ///< absent if no request was accepted
  std::optional<Cost> cost;                ///< absent without a price list
};

/// Requests arrived faster than they were served: waiting times grow with the trace and are not latencies.
inline bool is_saturated(const RunSummary& r) {
  return r.saturation && r.saturation->saturated.value_or(false);
}

}  // namespace kvplan::runs
