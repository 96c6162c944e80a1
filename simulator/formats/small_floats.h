// Numbers with fewer bits than a double: conversions with one rounding, to nearest, ties to even, without the
// machine's conversions. A number beyond a type's range becomes the type's largest one.
#pragma once

#include <cstdint>

namespace kvplan::formats {

/// A floating-point type with subnormals. Codes are sign, exponent, mantissa, from the top bit down.
struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  double largest;
};

inline constexpr SmallFloat kBinary16{5, 10, 15, 65504};
/// OCP 8-bit Floating Point Specification 1.0: E4M3 has no infinity.
inline constexpr SmallFloat kE4m3{4, 3, 7, 448};
inline constexpr SmallFloat kE5m2{5, 2, 15, 57344};
/// OCP Microscaling Formats Specification 1.0: 0, 0.5, 1, 1.5, 2, 3, 4, 6.
inline constexpr SmallFloat kE2m1{2, 1, 1, 6};

struct Rounded {
  double value{0};
  std::uint16_t code{0};  ///< the sign is that of the argument, also for zero
};
/// REQUIRES: not NaN.
Rounded round_to(const SmallFloat& type, double number);
/// The rounded value, in binary16 and in binary32 (which rounds to infinity above its range).
double to_half(double number);
double to_single(double number);

/// The greatest e with 2^e <= number. REQUIRES: positive and finite.
int floor_log2(double number);

}  // namespace kvplan::formats
