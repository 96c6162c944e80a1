// Files that a user opens, told apart by content as `kvplan run` does: a scenario, a trace, or one of each;
// or the report of a finished run.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/viewmodel/session.h"
#include "simulator/core/engine.h"
#include "simulator/scenario/scenario.h"
#include "traces/record/trace.h"

namespace kvplan::gui {

/// A trace in memory and how it came there. Immutable; shared by all runs on it.
struct LoadedTrace {
  std::string path;
  traces::ImportOptions import;
  traces::Trace trace;
};
using TracePtr = std::shared_ptr<const LoadedTrace>;

/// A finished run as its report has it, to be looked at.
struct LoadedReport {
  std::string path;
  plan::RunSummary run;
  std::shared_ptr<const TimelineData> timeline;  ///< empty where the report has none
};

/// What files stand for: settings that resolve, and the trace they name; or a report and its settings.
struct Opened {
  std::vector<plan::Setting> settings;
  TracePtr trace;                              ///< null with a report
  std::shared_ptr<const LoadedReport> report;  ///< null otherwise
  std::string scenario_file;                   ///< that the settings came from; empty without one
  std::string trace_file;                      ///< that was given by itself; empty without one
  std::optional<SessionView> view;             ///< of a session
};

/// How far a file has been read, in bytes as they lie on the disk. Written by the reader, read by anyone.
struct ReadProgress {
  std::atomic<std::int64_t> bytes{0};
  std::atomic<std::int64_t> total{0};  ///< 0: not known, or nothing read yet
};

/// Reads a whole trace piece by piece; ends early when `control` wants to stop (an error of kind
/// kInterrupted).
Result<TracePtr> read_trace(const std::string& path, const traces::ImportOptions& import,
                            const core::RunControl& control, ReadProgress& progress);

/// A report is opened by itself. Of several scenarios or traces the last one counts. Without a scenario the
/// trace takes the place of the one in `current`; a scenario takes the place of all of them. Errors: a file
/// is neither, cannot be read, or there is no trace among them. Without paths the trace of `current` is read again.
Result<Opened> open_files(const std::vector<std::string>& paths, std::vector<plan::Setting> current,
                          const core::RunControl& control, ReadProgress& progress);

}  // namespace kvplan::gui
