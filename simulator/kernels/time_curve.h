// The time of a call as a function of one growing amount, linear between knots. The amount is cached tokens here;
// other users say so.
#pragma once

#include <vector>

#include "simulator/kernels/time_source.h"

namespace kvplan::kernels {

struct Knot {
  double at{0};
  double us{0};
  TimeSource source{TimeSource::kTable};
};

/// At least one knot; knots ascend from 0. Behind the last one the curve rises by `rise` per unit.
struct TimeCurve {
  std::vector<Knot> knots;
  double rise{0};

  /// Exact at a knot. Between two knots the source is the less certain of theirs, at best kInterpolated; behind the
  /// last one kExtrapolated. REQUIRES: at >= 0.
  [[nodiscard]] SourcedTime operator()(double at) const;
};

}  // namespace kvplan::kernels
