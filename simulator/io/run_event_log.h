// Writes the event log of a run, of one replica or several: adds a writer to the run's observers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "simulator/io/event_log_writer.h"
#include "simulator/io/fleet_log_writer.h"
#include "simulator/run/run.h"

namespace kvplan::io {

/// Life cycle: `attach` before the run, `close` after it; without `close` no file appears.
class RunEventLog {
 public:
  explicit RunEventLog(std::string path);
  /// Writes into any sink; for tests.
  explicit RunEventLog(event_log::Encoder::Sink sink);

  /// Makes the run write into the log; scenario and trace outlive it. Errors (when the run starts): a run that a log
  /// cannot describe, a file that cannot be created.
  void attach(const runs::Scenario& scenario, const traces::Trace& trace, runs::RunOptions& options);
  Status close();

 private:
  using FileMaker = std::function<Result<std::unique_ptr<EventLogFile>>(const event_log::Header&)>;
  Result<core::Observer*> begin(const EventLogOptions& log, EventRecorder::TotalsNow totals);

  FileMaker make_file_;
  std::unique_ptr<EventLogWriter> alone_;  ///< for a run with one replica
  std::unique_ptr<FleetLogWriter> fleet_;  ///< for a run with several replicas
};

}  // namespace kvplan::io
