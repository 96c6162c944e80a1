// Runs a scenario on a trace and gathers the result: everything that a report says, and details that have files of
// their own. Deterministic: the same scenario and trace give the same result on any machine, with fast or naive
// stepping.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/observe/joint_states.h"
#include "simulator/observe/request_memory.h"
#include "simulator/observe/requests.h"
#include "simulator/observe/timeline.h"
#include "simulator/run/openers.h"
#include "simulator/run/run_summary.h"

namespace kvplan::runs {

/// Results of a run that are not in its report.
struct ReplicaDetails {
  core::MemoryLayout layout;
  std::vector<observe::TimelineBin> timeline;  ///< empty unless asked for
};

struct RunResult : RunSummary {
  std::vector<ReplicaDetails> details;  ///< by replica
  // By request:
  std::vector<observe::RequestRecord> records;
  std::vector<std::int32_t> replica_of;  ///< replica that served it; -1: it did not arrive
  std::vector<observe::RequestHeld>
      held;  ///< in allocation units, which are the same for all replicas; empty unless asked for
  std::vector<std::int32_t> input, output;
};

/// Frees the data by request, which only the table of requests needs. The rest of the result does not grow with the
/// number of requests.
void forget_requests(RunResult& result);

struct RunTokens;

/// A replica for which an observer is requested; everything in it outlives the run.
struct Watched {
  std::int64_t replica;
  const core::Workload& workload;
  const observe::Ledger& ledger;
  const core::Memory& memory;
  const RunTokens& tokens;
};
using ObserverMaker = std::function<Result<core::Observer*>(const Watched&)>;

/// Observes all replicas of a run together. Events of a single replica go to an observer of that replica.
class FleetWatcher {
 public:
  virtual ~FleetWatcher() = default;
  /// As core::RoutedTold, if replicas are on one clock. Otherwise it is not called: then no request waits for
  /// another, and they arrive by (arrival, position in the trace).
  virtual void on_routed(std::int64_t round, RequestId request) = 0;
  /// Everything before `until` has been reported to every observer. Called again and again, the last time with
  /// core::kNever. Sums before `until` can be taken from `joint` until they are merged, up to the time that is
  /// returned, together with the number of reports that were processed.
  struct Taken {
    SimTime until;
    std::int64_t things;
  };
  virtual Taken on_told(SimTime until, observe::JointStates& joint) = 0;
  /// The run is over, and all its reports are merged.
  virtual void on_end(const observe::JointStates& joint) = 0;
};

struct RunOptions : Openers {
  bool step_by_step{false};
  std::int64_t timeline_bins{0};  ///< bins for each replica, at most 2^22 over all of them; 0: no timeline
  /// Any equal bins will do, at most timeline_bins, which must be even (the last bin may be shorter): then a run with
  /// one replica needs no second run.
  bool timeline_joined{false};
  bool request_memory{false};  ///< record the memory that each request held
  /// Independent replicas run on this many threads. The result does not depend on it.
  int threads{1};
  core::RunControl* control{nullptr};
  /// More observers for a replica (an event log), requested before it runs. The caller owns them and keeps them until
  /// the run has ended. They may read the ledger's totals at any event.
  std::vector<ObserverMaker> extra_observers{};
  /// true: extra observers may be called on several threads at once, but those of one replica only on one at a time
  bool extra_observers_on_threads{false};
  /// may be null
  FleetWatcher* fleet_watcher{nullptr};
};

/// Most requests that engines finish in such a run: the final value of RunControl::requests_done. Each request counts
/// twice if the result needs a second, identical run.
[[nodiscard]] std::int64_t requests_to_serve(const Scenario& scenario, const traces::Trace& trace,
                                             const RunOptions& options);

/// Errors: the pool cannot be made, the trace does not fit the scenario (hash block), interrupted, time
/// exceeded.
Result<RunResult> run_scenario(const Scenario& scenario, const traces::Trace& trace,
                               const RunOptions& options);

}  // namespace kvplan::runs
