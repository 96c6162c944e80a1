// The files that runs read. Each is read once, however many runs on however many threads ask for it, and files with
// equal content are one: what they are told apart by is their content, not what they are called.
//
// Life cycle: made beside a batch of runs, told (`meet`) which files there are before any of them begins, and asked by
// them. Of equal files the one that was met first is read, so that which it is does not depend on threads.
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

namespace kvplan::plan {

/// Reads the trace that a scenario names.
using TraceReader = std::function<Result<traces::Trace>(const Scenario&)>;
/// A trace in memory, shared by all runs on it.
using TracePtr = std::shared_ptr<const traces::Trace>;

/// What is known of a file without reading it.
struct FileLook {
  std::int64_t bytes{0};
  std::int64_t changed{0};  ///< becomes another number when the file is written anew
  bool operator==(const FileLook&) const = default;
};

struct InputReaders : Openers {
  TraceReader read_trace;
  /// Nothing: no file that could be read twice, such as a pipe. Such ones are told apart by their names.
  std::function<std::optional<FileLook>(const std::string& path)> look;
  /// Over all that the value of a file depends on; asked only of files of equal length. An error that is no
  /// interruption: that is not known, and the file is told apart by its name. May be empty, as `look`: all are.
  std::function<Result<std::string>(const std::string& path)> digest;
};

class Inputs {
 public:
  explicit Inputs(InputReaders readers);
  ~Inputs();
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  /// These come next in the order of files.
  void meet(const std::vector<std::string>& files);
  /// The trace that a scenario names: one for equal files that are read in the same way.
  Result<TracePtr> trace(const Scenario& scenario);
  /// For runs; this outlives them. A file that could not be read is not tried again before `keep_only`. Configs of
  /// models are told apart by their names, since a model may be called like its file.
  [[nodiscard]] Openers openers();
  /// Forgets errors, and what was read of files that are not among these or have changed since. REQUIRES: nobody else
  /// asks meanwhile.
  void keep_only(const std::vector<std::string>& files);

 private:
  class Files;
  struct Values;
  InputReaders readers_;
  std::unique_ptr<Files> files_;
  std::unique_ptr<Values> values_;
};

}  // namespace kvplan::plan
