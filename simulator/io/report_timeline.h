// The timeline of a run as messages of proto/report.proto, and as the CSV of runs::timeline_csv.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/run/run.h"

namespace kvplan::v1 {
class TimelineChunk;
}

namespace kvplan::io {

/// Bins in one message, which then has less than 1 MiB.
inline constexpr std::size_t kChunkBins = 2048;

/// Bins [begin, end) of a replica. REQUIRES: begin < end <= the replica's bins.
void fill_message(const runs::RunResult& result, std::size_t replica, std::size_t begin, std::size_t end,
                  v1::TimelineChunk& message);

/// One bin as in the messages; each list has an entry for each row.
struct NamedBin {
  std::int64_t replica{0};
  std::int64_t begin_ns{0}, end_ns{0};
  std::vector<double> mean;
  std::vector<std::int64_t> least, greatest;
};

/// Splits the chunks of a file, in their order, into bins.
class TimelineBins {
 public:
  using Visitor = std::function<Status(const NamedBin&)>;
  /// Errors: columns of different lengths, other rows than before, bins that do not follow each other, and those of
  /// `visit`.
  Status add(const v1::TimelineChunk& message, const Visitor& visit);
  /// Names of the rows; empty before the first chunk.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  Status check_place(const v1::TimelineChunk& message);

  std::vector<std::string> names_;
  std::int64_t replica_{0};
  std::int64_t end_ns_{0};
};

/// Converts the chunks of a file, in their order, to CSV lines.
class TimelineLines {
 public:
  /// The lines of a chunk; the header before the first one. Errors as of TimelineBins.
  Result<std::string> add(const v1::TimelineChunk& message);

 private:
  TimelineBins bins_;
};

}  // namespace kvplan::io
