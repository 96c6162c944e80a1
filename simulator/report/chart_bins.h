// Timelines of a run as the charts draw them.
#pragma once

#include <array>
#include <vector>

#include "simulator/report/chart_frame.h"
#include "simulator/run/run.h"

namespace kvplan::report {

/// A timeline as coordinates: edges of bins, and rows summed over replicas.
struct Bins {
  std::vector<double> edges_s;
  std::array<std::vector<double>, observe::kTimelineRows> mean, least, greatest;  // bytes; requests
};

/// Rows are summed over replicas. If there are more than 320 bins, about as many as the width can show, bins are joined
/// without loss of exactness. REQUIRES: a timeline.
Bins bins_of(const runs::RunResult& result);

/// Values as coordinates.
std::vector<double> mapped(const std::vector<double>& values, const Scale& scale);

}  // namespace kvplan::report
