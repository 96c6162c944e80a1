// Logarithm, exponential and powers that give the same bits on every machine: nothing but the operations that
// IEEE 754 fixes (addition, multiplication, division, scaling by powers of two), in a fixed order. The functions
// of <cmath> are left to each C library, and one of another version may differ in the last bit, which is enough
// to make another trace, or another choice between two blocks. Results are within a few units in the last place of
// the true ones; draws and comparisons need no more.
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
/// The angle in [0, pi] whose cosine this is. REQUIRES: -1 <= cosine <= 1.
double arc_cosine(double cosine);

struct SineCosine {
  double sine{0};
  double cosine{1};
};
/// Of an angle in radians. The error grows with the angle: about 2e-16 times the greater of 1 and |x|.
/// REQUIRES: |x| <= 2^50.
SineCosine sine_cosine(double x);

}  // namespace kvplan
