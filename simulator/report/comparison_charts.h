// Charts of a comparison: SVG as charts.h has it.
#pragma once

#include <string>
#include <vector>

#include "simulator/study/answer.h"

namespace kvplan::report {

/// A variant that has a timeline.
struct RunningRow {
  std::string label;
  const runs::RunResult* result{nullptr};
};
/// Mean running requests over time: a strip for each row, all on the same axes. REQUIRES: a row; timelines.
std::string running_chart(const std::vector<RunningRow>& rows, const std::string& id);

/// A figure over the size of the pool, with its knee. REQUIRES: every variant has the figure.
std::string knee_chart(const runs::Comparison& comparison, const runs::Knee& knee, const std::string& id);

}  // namespace kvplan::report
