#include "traces/synth/draws.h"

#include <algorithm>
#include <cmath>

#include "simulator/base/check.h"
#include "simulator/base/real.h"

namespace kvplan::traces {
namespace {

/// Uniform over (0, 1] in steps of 2^-53.
double above_zero(Random& random) {
  return 1 - random.unit();
}

}  // namespace

double draw_exponential(Random& random) {
  return -natural_log(above_zero(random));
}

double draw_normal(Random& random) {
  for (;;) {
    const double x = 2 * random.unit() - 1;
    const double y = 2 * random.unit() - 1;
    const double s = x * x + y * y;
    if (s >= 1 || s == 0) continue;
    return x * std::sqrt(-2 * natural_log(s) / s);
  }
}

double draw_gamma(Random& random, double shape) {
  KVPLAN_CHECK(shape > 0);
  if (shape < 1) {
    const double larger = draw_gamma(random, shape + 1);
    return larger * power(above_zero(random), 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = draw_normal(random);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (natural_log(above_zero(random)) < 0.5 * x * x + d - d * v + d * natural_log(v)) return d * v;
  }
}

double draw_weibull(Random& random, double shape) {
  KVPLAN_CHECK(shape > 0);
  const double e = draw_exponential(random);
  return e == 0 ? 0 : power(e, 1 / shape);
}

Weighted::Weighted(std::span<const double> weights) {
  cumulative_.reserve(weights.size());
  double sum = 0;
  for (const double weight : weights) cumulative_.push_back(sum += weight);
  KVPLAN_CHECK(sum > 0 && std::isfinite(sum));
}

std::size_t Weighted::draw(Random& random) const {
  const double ticket = random.unit() * cumulative_.back();
  // The first one above the ticket, so none with weight 0. Rounding may carry the ticket to the very end.
  auto at = std::upper_bound(cumulative_.begin(), cumulative_.end(), ticket);
  if (at == cumulative_.end())
    at = std::lower_bound(cumulative_.begin(), cumulative_.end(), cumulative_.back());
  return static_cast<std::size_t>(at - cumulative_.begin());
}

double Weighted::share(std::size_t position) const {
  const double before = position == 0 ? 0 : cumulative_[position - 1];
  return (cumulative_[position] - before) / cumulative_.back();
}

Weighted zipf(std::size_t first, std::size_t count, double exponent) {
  std::vector<double> weights;
  weights.reserve(count);
  for (std::size_t k = first; k < first + count; ++k)
    weights.push_back(exponent == 0 ? 1.0 : power(static_cast<double>(k), -exponent));
  return Weighted(weights);
}

}  // namespace kvplan::traces
