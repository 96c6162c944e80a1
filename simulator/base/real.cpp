#include "simulator/base/real.h"

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

}  // namespace kvplan
