// Writes what the replicas of a run do into one event log (.kve): an observer at each of them, and their records in the
// order of one clock (simulator/io/log/FORMAT.md, "Several replicas").
//
// Replicas tell what they do by themselves, each perhaps on a thread of its own. Records wait here until nothing that
// happened before can come any more; so memory grows with what the others do while one replica is in its longest run of
// alike steps, not with the log.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "simulator/io/event_log_file.h"
#include "simulator/io/event_recorder.h"
#include "simulator/run/run.h"

namespace kvplan::io {

/// Life cycle: construct, `begin`, `add_replica` for each before the run, watch the run, `close` once. After an error
/// of the file the run goes on.
class FleetLogWriter final : public plan::FleetWatcher {
 public:
  FleetLogWriter();
  ~FleetLogWriter() override;
  /// REQUIRES: several replicas. `file` has begun with the header of these options.
  void begin(std::unique_ptr<EventLogFile> file, const EventLogOptions& options);

  /// The observer of the next replica, valid as long as this.
  core::Observer* add_replica(EventRecorder::TotalsNow totals);
  Status close() { return file_->close(); }

  void on_routed(std::int64_t round, RequestId request) override;
  Taken on_told(SimTime until, observe::JointStates& joint) override;
  void on_end(const observe::JointStates& joint) override;

 private:
  class Part;
  struct Placed;
  /// When a request arrived, among those of its tick.
  struct Route {
    std::int64_t round, order;
  };

  Route take_route(RequestId request);
  void add(const Placed& placed, observe::JointStates& joint);
  void end_tick(observe::JointStates& joint);
  [[nodiscard]] event_log::Totals bytes_of(const observe::StateCounts& cells) const;

  std::unique_ptr<EventLogFile> file_;
  EventLogOptions options_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::unordered_map<RequestId, Route> routes_;  ///< of arrivals that no replica has told yet
  std::int64_t routed_{0};
  std::int64_t tick_{-1};     ///< of the latest record
  bool counts_{false};        ///< some pass or end of a step was at it
  bool ran_{false};           ///< somebody, ever
  std::int64_t last_end_{0};  ///< of the replicas that have ended
};

}  // namespace kvplan::io
