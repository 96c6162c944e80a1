// The time of a call as a function of one growing amount, linear between knots. In this folder the amount is cached
// tokens; other users state theirs.
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

  /// Exact at a knot. Between two knots the source is the less certain of the two, at best kInterpolated; behind the
  /// last knot it is kExtrapolated. REQUIRES: at >= 0.
  [[nodiscard]] SourcedTime operator()(double at) const;
};

}  // namespace kvplan::kernels
