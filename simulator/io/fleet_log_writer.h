// Writes one event log (.kve) of a run with several replicas: an observer of each replica, and their records in the
// order of one clock (simulator/io/log/FORMAT.md, "Several replicas").
//
// Replicas report independently, perhaps each on its own thread. Records wait in this object until no earlier record
// can come. So memory grows with the records of other replicas during the longest run of equal steps of one replica,
// not with the log.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "simulator/io/event_log_file.h"
#include "simulator/io/event_recorder.h"
#include "simulator/run/run.h"

namespace kvplan::io {

/// Life cycle: construct, `begin`, `add_replica` for each replica before the run, watch the run, `close` once. If
/// writing fails, the run goes on.
class FleetLogWriter final : public runs::FleetWatcher {
 public:
  FleetLogWriter();
  ~FleetLogWriter() override;
  /// REQUIRES: several replicas; `file` has begun with the header of these options.
  void begin(std::unique_ptr<EventLogFile> file, const EventLogOptions& options);

  /// The observer for the next replica, valid as long as this object.
  core::Observer* add_replica(EventRecorder::TotalsNow totals);
  Status close() { return file_->close(); }

  void on_routed(std::int64_t round, RequestId request) override;
  Taken on_told(SimTime until, observe::JointStates& joint) override;
  void on_end(const observe::JointStates& joint) override;

 private:
  class Part;
  struct Placed;
  /// The order of a request's arrival among those of its tick.
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
  std::unordered_map<RequestId, Route> routes_;  ///< arrivals that no replica has reported yet
  std::int64_t routed_{0};
  std::int64_t tick_{-1};     ///< tick of the latest record
  bool counts_{false};        ///< true: that record ended a pass or step at this tick
  bool ran_{false};           ///< true: some replica ran, at any time
  std::int64_t last_end_{0};  ///< latest end among replicas that have ended
};

}  // namespace kvplan::io
