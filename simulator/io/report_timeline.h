// The timeline of a run as messages of proto/report.proto, and as the CSV that plan::timeline_csv gives.
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

/// Bins of one message: it then has less than 1 MiB.
inline constexpr std::size_t kChunkBins = 2048;

/// Bins [begin, end) of a replica. REQUIRES: begin < end <= the replica's bins.
void fill_message(const plan::RunResult& result, std::size_t replica, std::size_t begin, std::size_t end,
                  v1::TimelineChunk& message);

/// One bin as the messages have it; an entry of each list for each row.
struct NamedBin {
  std::int64_t replica{0};
  std::int64_t begin_ns{0}, end_ns{0};
  std::vector<double> mean;
  std::vector<std::int64_t> least, greatest;
};

/// Takes the chunks of a file, in their order, apart into bins.
class TimelineBins {
 public:
  using Visitor = std::function<Status(const NamedBin&)>;
  /// Errors: columns of different lengths, other rows than before, bins that do not follow each other, and
  /// what `visit` returns.
  Status add(const v1::TimelineChunk& message, const Visitor& visit);
  /// Of the rows; empty before the first chunk.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  Status check_place(const v1::TimelineChunk& message);

  std::vector<std::string> names_;
  std::int64_t replica_{0};
  std::int64_t end_ns_{0};
};

/// Turns the chunks of a file, in their order, into lines.
class TimelineLines {
 public:
  /// The lines of a chunk; before the first one the header. Errors as of TimelineBins.
  Result<std::string> add(const v1::TimelineChunk& message);

 private:
  TimelineBins bins_;
};

}  // namespace kvplan::io
