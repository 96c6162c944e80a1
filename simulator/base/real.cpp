#include "simulator/base/real.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "simulator/base/check.h"

namespace kvplan {
namespace {

// ln 2 in two parts: the first has 21 zero bits at its end, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kHalfRoot = 0x1.6a09e667f3bcdp-1;  // 1 / sqrt 2

}  // namespace

double natural_log(double x) {
  KVPLAN_CHECK(x > 0 && x <= std::numeric_limits<double>::max());
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact; in [1/2, 1)
  if (mantissa < kHalfRoot) {
    mantissa *= 2;
    --exponent;
  }
  // ln m = 2 artanh s = 2 (s + s^3/3 + s^5/5 + ...) with |s| < 0.1716.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double series = 0;
  for (int k = 23; k >= 3; k -= 2) series = (series + 1.0 / k) * square;
  const double fraction = 2 * s + 2 * s * series;
  const double whole = exponent;
  return whole * kLn2High + (fraction + whole * kLn2Low);
}

double exponential(double x) {
  if (x > 709.79) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  const double whole = std::floor(x / (kLn2High + kLn2Low) + 0.5);
  const double rest = (x - whole * kLn2High) - whole * kLn2Low;  // |rest| < 0.347
  double series = 1;
  for (int k = 14; k >= 1; --k) series = 1 + series * rest / k;
  return std::ldexp(series, static_cast<int>(whole));
}

double power(double base, double exponent) {
  return exponential(natural_log(base) * exponent);
}

double hyperbolic_tangent(double x) {
  const double size = std::fabs(x);
  if (size > 22) return x > 0 ? 1 : -1;
  if (size > 0.5) {
    const double shrunk = exponential(-2 * size);
    return std::copysign((1 - shrunk) / (1 + shrunk), x);
  }
  // Lambert's fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))).
  double below = 19;
  for (int k = 17; k >= 1; k -= 2) below = k + x * x / below;
  return x / below;
}

double arc_cosine(double cosine) {
  KVPLAN_CHECK(std::fabs(cosine) <= 1);
  constexpr double kEighthTurn = 0x1.921fb54442d18p-1;   // pi / 4
  constexpr double kTangentHalf = 0x1.a827999fcef32p-2;  // tan(pi / 8)
  // Half the angle has the tangent opposite / adjacent.
  const double opposite = std::sqrt(1 - cosine);
  const double adjacent = std::sqrt(1 + cosine);
  const double slope = std::min(opposite, adjacent) / std::max(opposite, adjacent);  // at most 1
  const bool steep = slope > kTangentHalf;
  const double rest = steep ? (slope - 1) / (slope + 1) : slope;
  const double square = rest * rest;  // at most 0.172
  double series = 0;
  for (int k = 45; k >= 3; k -= 2) series = (1.0 / k - series) * square;
  const double half = rest - rest * series + (steep ? kEighthTurn : 0);
  return opposite <= adjacent ? 2 * half : 4 * kEighthTurn - 2 * half;
}

SineCosine sine_cosine(double x) {
  constexpr double kMostAngle = 0x1p50;
  KVPLAN_CHECK(std::fabs(x) <= kMostAngle);
  // pi / 2 in three parts: the first two have 33 bits, so that their products with small counts are exact.
  constexpr double kQuarter = 0x1.921fb544p0;
  constexpr double kQuarterMore = 0x1.0b4611a6p-34;
  constexpr double kQuarterRest = 0x1.3198a2e037073p-69;
  constexpr double kQuartersInOne = 0x1.45f306dc9c883p-1;  // 2 / pi
  const double quarters = std::floor(x * kQuartersInOne + 0.5);
  const double rest = ((x - quarters * kQuarter) - quarters * kQuarterMore) - quarters * kQuarterRest;
  const double square = rest * rest;  // |rest| < 0.79
  double sine = 1;
  for (int k = 18; k >= 2; k -= 2) sine = 1 - sine * square / (k * (k + 1));
  sine *= rest;
  double cosine = 1;
  for (int k = 19; k >= 1; k -= 2) cosine = 1 - cosine * square / (k * (k + 1));
  const double turn = quarters - 4 * std::floor(quarters / 4);
  if (turn == 1) return {.sine = cosine, .cosine = -sine};
  if (turn == 2) return {.sine = -sine, .cosine = -cosine};
  if (turn == 3) return {.sine = -cosine, .cosine = sine};
  return {.sine = sine, .cosine = cosine};
}

}  // namespace kvplan
