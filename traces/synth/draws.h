// Random draws for synthetic workloads: each from uniform numbers of one seeded stream, by arithmetic that gives the
// same bits everywhere (real.h; a square root is exact by IEEE 754).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "simulator/base/random.h"

namespace kvplan::traces {

/// Mean 1, by inverse transform.
double draw_exponential(Random& random);
/// Mean 0, standard deviation 1: the polar method of G. Marsaglia, T. A. Bray, "A convenient method for generating
/// normal variables", SIAM Review 6 (1964). One of its two values is used, so that nothing is kept between draws.
double draw_normal(Random& random);
/// Mean `shape`, variance `shape`; any shape > 0: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma
/// variables", ACM TOMS 26 (2000), below 1 by their boost: a draw of shape + 1 times U^(1/shape).
double draw_gamma(Random& random, double shape);
/// Scale 1: (-ln U)^(1/shape), by inverse transform. Infinity where that is no double.
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
  /// Share of a position.
  [[nodiscard]] double share(std::size_t position) const;

 private:
  std::vector<double> cumulative_;
};

/// Weights 1 / k^exponent of k = first, first + 1, ..., `count` of them: Zipf's law; uniform where the exponent is 0.
Weighted zipf(std::size_t first, std::size_t count, double exponent);

}  // namespace kvplan::traces
