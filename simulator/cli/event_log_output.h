// `--events FILE`: an event log beside a run.
#pragma once

#include <memory>
#include <string>

#include "simulator/plan/run.h"

namespace kvplan::io {
class EventLogWriter;
}

namespace kvplan::cli {

/// Life cycle: `attach` before the run, `close` after it; without `close` no file appears. One log holds one
/// replica.
class EventLogOutput {
 public:
  explicit EventLogOutput(std::string path);
  ~EventLogOutput();

  /// Lets the run write into the log. Errors (when the run starts): several replicas, a file that cannot be
  /// made.
  void attach(const plan::Scenario& scenario, const traces::Trace& trace, plan::RunOptions& options);
  Status close();

 private:
  std::string path_;
  std::unique_ptr<io::EventLogWriter> writer_;
};

}  // namespace kvplan::cli
