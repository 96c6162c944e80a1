#include "simulator/kernels/time_curve.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::kernels {

SourcedTime TimeCurve::operator()(double at) const {
  const auto above =
      std::upper_bound(knots.begin(), knots.end(), at, [](double a, const Knot& k) { return a < k.at; });
  KVPLAN_CHECK(above != knots.begin());
  const Knot& low = *(above - 1);
  if (low.at == at) return {low.us, low.source};
  if (above == knots.end())
    return {low.us + rise * (at - low.at), std::max(low.source, TimeSource::kExtrapolated)};
  const double share = (at - low.at) / (above->at - low.at);
  return {low.us + (above->us - low.us) * share,
          std::max({low.source, above->source, TimeSource::kInterpolated})};
}

}  // namespace kvplan::kernels
