#include "simulator/latency/parts/tick_curve.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::latency {

std::int64_t floor_div(Wide a, std::int64_t b) {
  const Wide quotient = a / b;
  return static_cast<std::int64_t>(quotient - (quotient * b > a ? 1 : 0));
}

TickPiece piece_between(const TickKnot& low, const TickKnot& high, std::int64_t at) {
  const std::int64_t span = high.at - low.at;
  const std::int64_t slope = floor_div(Wide{high.ticks} - low.ticks, span);
  // So many tokens before the second knot add one tick more.
  const auto steeper = static_cast<std::int64_t>(Wide{high.ticks} - low.ticks - Wide{slope} * span);
  const std::int64_t bend = high.at - steeper;
  if (at < bend || steeper == 0) return {low.at, bend, low.ticks, slope};
  return {bend, high.at, static_cast<std::int64_t>(low.ticks + Wide{slope} * (bend - low.at)), slope + 1};
}

TickCurve::TickCurve(std::vector<TickKnot> knots, std::int64_t slope)
    : knots_(std::move(knots)), slope_(slope) {
  KVPLAN_CHECK(!knots_.empty() && knots_.front().at == 0);
  for (std::size_t i = 1; i < knots_.size(); ++i) KVPLAN_CHECK(knots_[i - 1].at < knots_[i].at);
}

TickPiece TickCurve::piece(std::int64_t at) const {
  const auto above = std::upper_bound(knots_.begin(), knots_.end(), at,
                                      [](std::int64_t a, const TickKnot& knot) { return a < knot.at; });
  const TickKnot& low = *(above - 1);
  if (above == knots_.end()) return {low.at, kNoEnd, low.ticks, slope_};
  return piece_between(low, *above, at);
}

}  // namespace kvplan::latency
