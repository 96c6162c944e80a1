// Runs a scenario on a trace and gathers the result: what a report says of it, and details that files of their own
// have. Deterministic: the same scenario and trace give the same result on any machine, stepping or
// not.
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

namespace kvplan::plan {

/// What a run has beside its report.
struct ReplicaDetails {
  core::MemoryLayout layout;
  std::vector<observe::TimelineBin> timeline;  ///< empty unless asked for
};

struct RunResult : RunSummary {
  std::vector<ReplicaDetails> details;  ///< of the replicas, in their order
  // By request:
  std::vector<observe::RequestRecord> records;
  std::vector<std::int32_t> replica_of;  ///< that served it; -1: it did not arrive
  std::vector<observe::RequestHeld>
      held;  ///< in allocation units of the replicas, which are alike; empty unless asked for
  std::vector<std::int32_t> input, output;
};

/// Frees what is by request, which tables of requests alone show: what is left does not grow with their number.
void forget_requests(RunResult& result);

/// The replica that an observer is asked for; all of it outlives the run.
struct Watched {
  std::int64_t replica;
  const core::Workload& workload;
  const observe::Ledger& ledger;
  const core::Memory& memory;
  const TokenPlan& tokens;
};
using ObserverMaker = std::function<Result<core::Observer*>(const Watched&)>;

/// Sees the replicas of a run together, where there are several; what each does by itself, an observer of it is told.
class FleetWatcher {
 public:
  virtual ~FleetWatcher() = default;
  /// As core::RoutedTold, where replicas are on one clock. Else it is not told: then no request waits for another, and
  /// they arrive by (arrival, position in the trace).
  virtual void on_routed(std::int64_t round, RequestId request) = 0;
  /// Every observer has been told everything before `until`; called again and again, at last with core::kNever.
  /// `joint` can be asked for sums before `until`, until it is merged: as far as is returned, with how many things were
  /// taken in.
  struct Taken {
    SimTime until;
    std::int64_t things;
  };
  virtual Taken on_told(SimTime until, observe::JointStates& joint) = 0;
  /// The run is over, and all of it merged.
  virtual void on_end(const observe::JointStates& joint) = 0;
};

struct RunOptions : Openers {
  bool step_by_step{false};
  std::int64_t timeline_bins{0};  ///< of each replica, at most 2^22 over all of them; 0: no timeline
  /// Any bins of equal width will do, at most so many, an even number (the last may be shorter): then one
  /// replica needs one run.
  bool timeline_joined{false};
  bool request_memory{false};  ///< what each request held
  /// Replicas that nothing joins run on so many threads. The result does not depend on it.
  int threads{1};
  core::RunControl* control{nullptr};
  /// More observers for a replica (an event log), each asked for before it runs; the caller owns them and keeps
  /// them until the run has ended. They may ask the ledger for its totals at any event.
  std::vector<ObserverMaker> extra_observers{};
  /// Those may be told on several threads at once, each replica's on one at a time.
  bool extra_observers_on_threads{false};
  /// Beside them; may be null.
  FleetWatcher* fleet_watcher{nullptr};
};

/// Requests that engines finish in such a run, at most: what RunControl::requests_done comes to. Each is served
/// again where the result needs a second, equal run.
[[nodiscard]] std::int64_t requests_to_serve(const Scenario& scenario, const traces::Trace& trace,
                                             const RunOptions& options);

/// Errors: the pool cannot be made, the trace does not fit the scenario (hash block), interrupted, time
/// exceeded.
Result<RunResult> run_scenario(const Scenario& scenario, const traces::Trace& trace,
                               const RunOptions& options);

}  // namespace kvplan::plan
