// Serves the requests of a run: replicas, each with its memory, ledger and observers, independent or on one clock.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "simulator/attention/trajectory.h"
#include "simulator/core/latency.h"
#include "simulator/core/parted_latency.h"
#include "simulator/core/workload.h"
#include "simulator/observe/integral.h"
#include "simulator/observe/joint_states.h"
#include "simulator/observe/kind_sums.h"
#include "simulator/observe/overlays.h"
#include "simulator/observe/placing_costs.h"
#include "simulator/observe/read_sums.h"
#include "simulator/observe/step_times.h"
#include "simulator/retention/run_tokens.h"
#include "simulator/run/run.h"

namespace kvplan::runs {

/// Data that all replicas of a run share.
struct RunSetup {
  const Scenario& scenario;
  const RunOptions& options;
  core::Workload workload;
  RunTokens tokens;
  std::int64_t undriven{0};  ///< requests that are only counted, because their recording is too short
  std::unique_ptr<core::LatencyModel> latency;
  /// Shared by all replicas, by the second run if there is one, and by other runs if the caller has one for them.
  std::shared_ptr<attention::TrajectoryStore> trajectories;

  /// True: the memory of each request is requested, or needed for the share of memory that recordings drove.
  [[nodiscard]] bool follows_held() const { return options.request_memory || undriven > 0; }
};

/// Sums over a replica's whole run.
struct Totals {
  std::array<Wide, observe::kStates> cell_ticks{};
  Wide running_ticks{0};
  std::int64_t max_running{0};
};

/// The result of one replica.
struct ReplicaOutcome {
  core::MemoryLayout layout;
  Totals totals;  ///< until all replicas have ended
  std::array<Wide, observe::kOverlays> overlay_ticks{};
  std::vector<std::array<Wide, observe::kStates>> kind_ticks;  ///< present if layers lie in groups
  // At the peak of all replicas together:
  SimTime peak_time{};
  observe::StateCounts peak_cells{};
  observe::OverlayCounts peak_overlays{};
  std::vector<observe::StateCounts> peak_kinds;
  std::int64_t least_idle{0};  ///< counts of idle memory at its own peak
  std::optional<observe::Timeline> timeline;
  observe::EvictionCounts evictions;
  observe::PlacingCosts placing;
  std::optional<core::StepParts> step_parts;  ///< present if the latency model knows parts of steps
  observe::DecodeReads reads;                 ///< present with sparse attention
  std::vector<bool> used;                     ///< by recording: true if it drove a request
  std::int64_t iterations{0};
  std::int64_t computed_tokens{0};
  SimTime end{};  ///< end of its last step
};

struct Served {
  std::vector<ReplicaOutcome> replicas;
  std::vector<std::int32_t> replica_of;         ///< by request; -1: it did not arrive
  std::vector<observe::RequestRecord> records;  ///< by request
  std::vector<observe::RequestHeld> held;       ///< by request; empty unless asked for
  SimTime end{};                                ///< end of the last step of all replicas
  std::int64_t max_running{0};                  ///< most running requests at one moment
  std::int64_t most_holes{0};                   ///< most counts of holes at one moment
};

/// True: any equal bins will do, and there is one replica, so the run itself can fill the bins.
[[nodiscard]] bool joins_timeline(const Scenario& scenario, const RunOptions& options);

/// Errors: the pool cannot be made, a recording that does not fit, interrupted, time exceeded.
Result<Served> serve(const RunSetup& setup);
/// Runs again to fill timeline bins, which need the end of the run; stores them in `served`.
Status serve_timelines(const RunSetup& setup, Served& served);

}  // namespace kvplan::runs
