// The time of a call as a function of one thing that grows, on straight lines between knots: cached tokens here, other
// amounts where a reader says so.
#pragma once

#include <vector>

#include "simulator/kernels/time_source.h"

namespace kvplan::kernels {

struct Knot {
  double at{0};
  double us{0};
  TimeSource source{TimeSource::kTable};
};

/// Knots ascend and begin at 0, at least one. Behind the last one the curve goes on with `rise` per unit.
struct TimeCurve {
  std::vector<Knot> knots;
  double rise{0};

  /// Exactly the knot's time at a knot. Between two knots the source is the less sure one of theirs, and at best
  /// kInterpolated; behind the last one kExtrapolated. REQUIRES: at >= 0.
  [[nodiscard]] SourcedTime operator()(double at) const;
};

}  // namespace kvplan::kernels
