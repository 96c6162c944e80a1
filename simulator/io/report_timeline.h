// The timeline of a run as messages of proto/report.proto, and as the CSV that plan::timeline_csv gives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/plan/run.h"

namespace kvplan::v1 {
class TimelineChunk;
}

namespace kvplan::io {

/// Bins of one message: it then has less than 1 MiB.
inline constexpr std::size_t kChunkBins = 2048;

/// Bins [begin, end) of a replica. REQUIRES: begin < end <= the replica's bins.
void fill_message(const plan::RunResult& result, std::size_t replica, std::size_t begin, std::size_t end,
                  v1::TimelineChunk& message);

/// Turns the chunks of a file, in their order, into lines.
class TimelineLines {
 public:
  /// The lines of a chunk; before the first one the header. Errors: columns of different lengths, other rows
  /// than before, bins that do not follow each other.
  Result<std::string> add(const v1::TimelineChunk& message);

 private:
  Status check_place(const v1::TimelineChunk& message);

  std::vector<std::string> names_;  ///< of the rows; empty before the first chunk
  std::int64_t replica_{0};
  std::int64_t end_ns_{0};
};

}  // namespace kvplan::io
