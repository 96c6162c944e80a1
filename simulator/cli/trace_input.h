// Reads traces. All commands read them through this file, so that each shows progress and stops soon when asked to.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/cli/progress.h"
#include "traces/io/input.h"
#include "traces/record/import_options.h"
#include "traces/record/trace_stream.h"

namespace kvplan::cli {

/// Shows the bytes read of all bytes of the files, as on the disk (compressed bytes of a compressed file), and the
/// rate. The total is left out if one of the files is a pipe.
class ReadProgress {
 public:
  explicit ReadProgress(const std::vector<std::string>& paths);
  /// Hook for the reader of the files; this object outlives it. Reading ends with interrupted_error() once the user
  /// asked to stop.
  [[nodiscard]] traces::ReadHook hook();
  void end() { progress_.end(); }

 private:
  [[nodiscard]] std::string line() const;

  std::chrono::steady_clock::time_point begin_;
  std::int64_t total_bytes_;  // 0 = not known
  std::atomic<std::int64_t> bytes_{0};
  Progress progress_;  // last member: its thread reads the others
};

/// A stream that counts its requests, for progress.
class CountedStream final : public traces::TraceStream {
 public:
  /// `total`: 0 = not known. The stream outlives this.
  CountedStream(traces::TraceStream& stream, std::int64_t total);
  Result<bool> next(traces::Trace& piece) override;
  [[nodiscard]] const traces::StreamSummary& summary() const override { return stream_.summary(); }

 private:
  traces::TraceStream& stream_;
  std::int64_t total_;
  std::atomic<std::int64_t> made_{0};
  Progress progress_;  // last member: its thread reads the others
};

/// Opens one file, or several files of one format. The line of progress is gone once the stream has ended.
Result<std::unique_ptr<traces::TraceStream>> open_input(const std::vector<std::string>& paths,
                                                        const traces::ImportOptions& import);
/// The whole trace in memory.
Result<traces::Trace> read_trace(const std::string& path, const traces::ImportOptions& import);

}  // namespace kvplan::cli
