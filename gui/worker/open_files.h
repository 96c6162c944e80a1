// Files that a user opens, recognised by content as in `kvplan run`: a scenario, a trace, or one of each; or the
// report of a finished run.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/viewmodel/session.h"
#include "gui/worker/document.h"
#include "simulator/core/engine.h"
#include "simulator/scenario/scenario.h"
#include "traces/record/trace.h"

namespace kvplan::gui {

/// A trace in memory with its origin. Immutable; shared by all runs on it.
struct LoadedTrace {
  std::string path;
  traces::ImportOptions import;
  traces::Trace trace;
};
using TracePtr = std::shared_ptr<const LoadedTrace>;

/// A finished run from its report, for viewing.
struct LoadedReport {
  std::string path;
  runs::RunSummary run;
  std::shared_ptr<const TimelineData> timeline;  ///< empty if the report has none
};

/// A scenario with its trace, opened to be compared with another one.
struct OpenedScenario {
  std::vector<runs::Setting> settings;
  TracePtr trace;
};

/// The content of opened files: settings that resolve, and the trace that they name; or a report and its settings; or
/// documents alone, then everything else is empty.
struct Opened {
  std::vector<runs::Setting> settings;
  TracePtr trace;                      ///< null with a report, and with documents alone
  std::vector<OpenedScenario> others;  ///< scenarios before the last one, in their order
  std::vector<DocumentPtr> documents;
  std::shared_ptr<const LoadedReport> report;  ///< null otherwise
  std::string scenario_file;                   ///< the file with the settings; empty if none
  std::string trace_file;                      ///< a trace file that was opened alone; empty if none
  std::optional<SessionView> view;             ///< of a session
};

/// Progress of reading a file, in bytes on the disk. Written by the reader, read by any thread.
struct ReadProgress {
  std::atomic<std::int64_t> bytes{0};
  std::atomic<std::int64_t> total{0};  ///< 0: not known, or nothing read yet
};

/// Reads a whole trace in pieces; ends early when `control` wants to stop (an error of kind kInterrupted).
Result<TracePtr> read_trace(const std::string& path, const traces::ImportOptions& import,
                            const core::RunControl& control, ReadProgress& progress);

/// A report must be opened alone. Of several traces the last one counts, for all scenarios. Of several scenarios the
/// last one is edited, and the ones before it are compared with it. A trace alone replaces the one in `current`; a
/// scenario replaces all of `current`. Without paths the trace of `current` is read again. `documents` is asked first,
/// and may be empty. Errors: a file is neither, cannot be read, or there is no trace; too many scenarios.
Result<Opened> open_files(const std::vector<std::string>& paths, std::vector<runs::Setting> current,
                          const DocumentReader& documents, const core::RunControl& control,
                          ReadProgress& progress);

}  // namespace kvplan::gui
