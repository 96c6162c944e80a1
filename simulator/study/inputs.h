// The files that runs read. Each is read once, however many runs on however many threads ask for it. Files with equal
// content count as one: they are identified by content, not by name.
//
// Life cycle: make an object for a batch of runs; name the files with `meet` before any run begins; then the runs ask
// for them. Of equal files the first one named is read, so the choice does not depend on threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/run/openers.h"
#include "simulator/scenario/scenario.h"
#include "traces/record/trace.h"

namespace kvplan::runs {

/// Reads the trace that a scenario names.
using TraceReader = std::function<Result<traces::Trace>(const Scenario&)>;
/// A trace in memory, shared by all runs on it.
using TracePtr = std::shared_ptr<const traces::Trace>;

/// Properties of a file that are known without reading it.
struct FileLook {
  std::int64_t bytes{0};
  std::int64_t changed{0};  ///< changes when the file is written again
  bool operator==(const FileLook&) const = default;
};

struct InputReaders : Openers {
  TraceReader read_trace;
  /// Returns nothing for files that cannot be read twice, such as a pipe. Those are identified by name.
  std::function<std::optional<FileLook>(const std::string& path)> look;
  /// Digest of everything on which the value of a file depends; called only for files of equal length. On an error
  /// other than an interruption the file is identified by name. May be empty, like `look`: then all files are
  /// identified by name.
  std::function<Result<std::string>(const std::string& path)> digest;
};

class Inputs {
 public:
  explicit Inputs(InputReaders readers);
  ~Inputs();
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  /// Adds these files to those named before.
  void meet(const std::vector<std::string>& files);
  /// The trace that a scenario names; shared by scenarios with equal files and equal reading options.
  Result<TracePtr> trace(const Scenario& scenario);
  /// Openers for runs; this object outlives them. A file that could not be read is not tried again before `keep_only`.
  /// Configs of models are identified by name, since a model may be named like its file.
  [[nodiscard]] Openers openers();
  /// Forgets errors, and the content of files that are not in this list or have changed since. REQUIRES: no other
  /// thread uses this object meanwhile.
  void keep_only(const std::vector<std::string>& files);

 private:
  class Files;
  struct Values;
  InputReaders readers_;
  std::unique_ptr<Files> files_;
  std::unique_ptr<Values> values_;
};

}  // namespace kvplan::runs
