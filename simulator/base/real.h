// Logarithm, exponential and powers with the same bits on every machine: only operations that IEEE 754 fixes
// (addition, multiplication, division, scaling by powers of two), in a fixed order. The functions of <cmath> depend
// on the C library and may differ in the last bit between versions, which is enough to change a trace or a choice
// between two blocks. Results are within a few units in the last place of the true ones; draws and comparisons need
// no more.
#pragma once

namespace kvplan {

/// REQUIRES: x is positive and finite.
double natural_log(double x);
/// e to the x: 0 below the least double, infinity above the greatest.
double exponential(double x);
/// REQUIRES: base is positive and finite, exponent is finite.
double power(double base, double exponent);
/// Hyperbolic tangent.
double hyperbolic_tangent(double x);
/// The angle in [0, pi] with this cosine. REQUIRES: -1 <= cosine <= 1.
double arc_cosine(double cosine);

struct SineCosine {
  double sine{0};
  double cosine{1};
};
/// Sine and cosine of an angle in radians. The error grows with the angle: about 2e-16 x max(1, |x|). REQUIRES: |x|
/// <= 2^50.
SineCosine sine_cosine(double x);

}  // namespace kvplan
