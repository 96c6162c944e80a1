// Collects the timeline of a report file, bin by bin, into the columns that the window shows.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/viewmodel/timeline_data.h"
#include "simulator/base/result.h"
#include "simulator/results/report.h"

namespace kvplan::gui {

/// Life cycle: `add` for each bin as io::read_reported_run reports them, then `take` once.
///
/// The means in a report are floating-point numbers, so the states sum to the capacity up to rounding.
class ReportedTimeline {
 public:
  /// More bins than this per replica are refused: a column takes some 400 bytes.
  static constexpr std::size_t kMostBins = std::size_t{1} << 19;

  /// Errors: bins that differ from those of the replicas before, too many bins, sums beyond 64 bits.
  Status add(std::int64_t replica, const runs::BinNumbers& bin);
  /// Error: the last replica has fewer bins than those before.
  Result<std::vector<TimelineColumn>> take();

 private:
  Status end_replica();

  std::vector<TimelineColumn> columns_;
  std::size_t next_{0};  ///< bin of the present replica
  std::int64_t replica_{-1};
  bool first_replica_{true};
};

}  // namespace kvplan::gui
