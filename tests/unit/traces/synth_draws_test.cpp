// Draws of synthetic traces: the functions compared with <cmath>, the distributions with exact ones (moments, and the
// Kolmogorov-Smirnov distance), always with the same seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "simulator/base/real.h"
#include "tests/unit/traces/synth_support.h"
#include "traces/synth/draws.h"

namespace kvplan::traces {
namespace {

using testing::gamma_cdf;
using testing::kKsBound;
using testing::ks_distance;

constexpr std::size_t kDraws = 200'000;

std::vector<double> draws(const std::function<double(Random&)>& draw, std::uint64_t seed) {
  Random random(seed, "draws");
  std::vector<double> out;
  for (std::size_t i = 0; i < kDraws; ++i) out.push_back(draw(random));
  return out;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}
double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return sum / static_cast<double>(values.size());
}

/// Distance in units in the last place of the reference.
double ulps(double found, double reference) {
  if (found == reference) return 0;
  const double step =
      std::nextafter(std::abs(reference), std::numeric_limits<double>::infinity()) - std::abs(reference);
  return std::abs(found - reference) / step;
}

TEST(SynthDraws, LogarithmAndExponentialAreThoseOfTheLibraryToAFewUnits) {
  Random random(1, "real");
  double worst_log = 0;
  double worst_exp = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double x = std::ldexp(0.5 + random.unit() / 2, static_cast<int>(random.between(-1000, 1000)));
    worst_log = std::max(worst_log, ulps(natural_log(x), std::log(x)));
    const double near_one =
        1 + (random.unit() - 0.5) * std::ldexp(1, static_cast<int>(random.between(-40, 0)));
    worst_log = std::max(worst_log, ulps(natural_log(near_one), std::log(near_one)));
    const double y = (random.unit() - 0.5) * 1400;
    worst_exp = std::max(worst_exp, ulps(exponential(y), std::exp(y)));
    const double small = random.unit() - 0.5;
    worst_exp = std::max(worst_exp, ulps(exponential(small), std::exp(small)));
  }
  EXPECT_LE(worst_log, 3);
  EXPECT_LE(worst_exp, 3);
  EXPECT_EQ(natural_log(1), 0);
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(-746), 0);
  EXPECT_EQ(exponential(710), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(natural_log(std::numeric_limits<double>::denorm_min()), -744.44007192138122, 1e-12);
  EXPECT_NEAR(power(2, 0.5), std::sqrt(2), 1e-15);
}

TEST(SynthDraws, TheSameBitsOnEveryMachine) {
  // Only operations that IEEE 754 fixes: these bits are part of what a seed guarantees. A port to Python gives the same
  // bits.
  Random random(7, "bits");
  EXPECT_EQ(natural_log(10), 0x1.26bb1bbb55516p+1);
  EXPECT_EQ(exponential(1), 0x1.5bf0a8b14576ap+1);
  std::uint64_t state = 0;
  for (int i = 0; i < 10'000; ++i) {
    for (const double value : {draw_exponential(random), draw_normal(random), draw_gamma(random, 0.3),
                               draw_gamma(random, 4.5), draw_weibull(random, 0.7)}) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      state = (state ^ bits) * 0x9E3779B97F4A7C15ULL;
      state ^= state >> 32;
    }
  }
  EXPECT_EQ(state, 0x473138a7839b3c99ULL);
}

TEST(SynthDraws, Exponential) {
  const auto values = draws(draw_exponential, 1);
  EXPECT_LT(ks_distance(values, [](double x) { return 1 - std::exp(-x); }), kKsBound);
  EXPECT_NEAR(mean_of(values), 1, 0.01);
  EXPECT_NEAR(variance_of(values), 1, 0.03);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 0);
}

TEST(SynthDraws, Normal) {
  const auto values = draws(draw_normal, 2);
  EXPECT_LT(ks_distance(values, [](double x) { return std::erfc(-x / std::sqrt(2)) / 2; }), kKsBound);
  EXPECT_NEAR(mean_of(values), 0, 0.01);
  EXPECT_NEAR(variance_of(values), 1, 0.015);
}

TEST(SynthDraws, GammaOfEveryShape) {
  for (const double shape : {0.01, 0.05, 0.3, 0.9, 0.999, 1.0, 1.001, 2.5, 50.0, 1e4}) {
    SCOPED_TRACE(shape);
    const auto values = draws([&](Random& random) { return draw_gamma(random, shape); }, 3);
    EXPECT_LT(ks_distance(values, [&](double x) { return gamma_cdf(shape, x); }), kKsBound);
    // Mean and variance equal the shape; six standard errors, with the fourth moment 3 k^2 + 6 k.
    const double n = std::sqrt(static_cast<double>(kDraws));
    EXPECT_NEAR(mean_of(values), shape, 6 * std::sqrt(shape) / n);
    EXPECT_NEAR(variance_of(values), shape, 6 * std::sqrt(2 * shape * shape + 6 * shape) / n);
  }
}

TEST(SynthDraws, Weibull) {
  for (const double shape : {0.2, 0.7, 1.0, 3.0}) {
    SCOPED_TRACE(shape);
    const auto values = draws([&](Random& random) { return draw_weibull(random, shape); }, 4);
    EXPECT_LT(ks_distance(values, [&](double x) { return 1 - std::exp(-std::pow(x, shape)); }), kKsBound);
  }
  const auto values = draws([&](Random& random) { return draw_weibull(random, 3); }, 5);
  EXPECT_NEAR(mean_of(values), std::tgamma(1 + 1.0 / 3), 0.005);
}

TEST(SynthDraws, TheDistanceSeesAShapeThatIsALittleWrong) {
  const auto values = draws([&](Random& random) { return draw_gamma(random, 1.02); }, 3);
  EXPECT_GT(ks_distance(values, [&](double x) { return gamma_cdf(1.0, x); }), kKsBound);
  const auto no_boost = draws([&](Random& random) { return draw_gamma(random, 1.3); }, 3);
  EXPECT_GT(ks_distance(no_boost, [&](double x) { return gamma_cdf(0.3, x); }), 0.1);
}

TEST(SynthDraws, ExtremeShapesStayNumbers) {
  Random random(9, "extreme");
  for (const double shape : {1e-6, 1e-4, 1e12}) {
    for (int i = 0; i < 10'000; ++i) {
      const double value = draw_gamma(random, shape);
      ASSERT_TRUE(value >= 0 && std::isfinite(value)) << shape;
      ASSERT_GE(draw_weibull(random, shape), 0);
    }
  }
}

TEST(SynthDraws, WeightedPositions) {
  const std::array<double, 5> weights{0, 3, 0, 1, 0};
  const Weighted weighted(weights);
  Random random(5, "weighted");
  std::array<int, 5> seen{};
  for (int i = 0; i < 40'000; ++i) ++seen[weighted.draw(random)];
  EXPECT_EQ(seen[0] + seen[2] + seen[4], 0) << "no weight, no draw";
  EXPECT_NEAR(seen[1], 30'000, 450);  // five standard deviations
  EXPECT_EQ(weighted.share(1), 0.75);
  EXPECT_EQ(weighted.size(), 5U);
}

TEST(SynthDraws, ZipfIsItsLaw) {
  for (const double exponent : {0.0, 0.8, 2.0}) {
    const Weighted law = zipf(3, 50, exponent);
    double sum = 0;
    for (int k = 3; k < 53; ++k) sum += std::pow(k, -exponent);
    std::vector<double> seen(50, 0);
    Random random(6, "zipf");
    for (std::size_t i = 0; i < kDraws; ++i) ++seen[law.draw(random)];
    double chi_square = 0;
    for (std::size_t at = 0; at < 50; ++at) {
      const double share = std::pow(static_cast<double>(at + 3), -exponent) / sum;
      EXPECT_NEAR(law.share(at), share, 1e-14);
      const double expected = share * static_cast<double>(kDraws);
      chi_square += (seen[at] - expected) * (seen[at] - expected) / expected;
    }
    EXPECT_LT(chi_square, 100) << "49 degrees of freedom: one in 24,000 is above";
  }
}

}  // namespace
}  // namespace kvplan::traces
