// Random draws for synthetic workloads. Each is made from uniform numbers of one seeded stream, by arithmetic that
// gives the same bits everywhere (real.h; a square root is exact by IEEE 754).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "simulator/base/random.h"

namespace kvplan::traces {

/// Exponential with mean 1, by inverse transform.
double draw_exponential(Random& random);
/// Mean 0, standard deviation 1: the polar method of G. Marsaglia, T. A. Bray, "A convenient method for generating
/// normal variables", SIAM Review 6 (1964). It uses one of the two values, so nothing is kept between draws.
double draw_normal(Random& random);
/// Mean and variance `shape`, any shape > 0: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma
/// variables", ACM TOMS 26 (2000). Shapes below 1 use their boost: a draw of shape + 1 times U^(1/shape).
double draw_gamma(Random& random, double shape);
/// Weibull with scale 1: (-ln U)^(1/shape), by inverse transform. Infinity if that is too large for a double.
double draw_weibull(Random& random, double shape);

/// Positions 0, 1, ... drawn in proportion to their weights, by binary search.
class Weighted {
 public:
  Weighted() = default;
  /// REQUIRES: weights are finite and not negative, their sum is positive and finite.
  explicit Weighted(std::span<const double> weights);
  [[nodiscard]] std::size_t draw(Random& random) const;
  [[nodiscard]] std::size_t size() const { return cumulative_.size(); }
  [[nodiscard]] bool empty() const { return cumulative_.empty(); }
  /// The share of all weights at a position.
  [[nodiscard]] double share(std::size_t position) const;

 private:
  std::vector<double> cumulative_;
};

/// Zipf's law: `count` weights 1 / k^exponent, of k = first, first + 1, ...; uniform if the exponent is 0.
Weighted zipf(std::size_t first, std::size_t count, double exponent);

}  // namespace kvplan::traces
