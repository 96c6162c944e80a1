// The integer quantisers, each for one group of numbers in place: they read `x` and overwrite it with the decoded
// numbers. Scales and zero points are first rounded to the type in which they are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvplan::formats {

/// Every `stride`-th number from the first on, and where their codes go.
struct Group {
  double* x;
  std::uint8_t* codes;
  std::size_t count;
  std::size_t stride{1};
};

struct ScaleZero {
  double scale{0};
  double zero{0};
};

/// Quantises between the least and the greatest number in 2^bits steps: zero = fp16(min), scale = fp16((max - min) /
/// (2^bits - 1)), code = clamp(rint((x - zero) / scale)). If the scale is 0, all codes are 0. REQUIRES: count >= 1, 1
/// <= bits <= 8.
ScaleZero quantise_between(const Group& group, int bits);

enum class Rounding : std::uint8_t { kEven, kTruncate };

/// The greatest code of a symmetric quantiser: 2^(bits - 1) - 1.
constexpr std::int64_t greatest_code(int bits) {
  return (std::int64_t{1} << (bits - 1)) - 1;
}
/// code = clamp(round(x / scale), -M - 1, M) in two's complement, M the greatest code; 0 if the scale is 0. REQUIRES:
/// 2 <= bits <= 8.
void quantise_symmetric(const Group& group, int bits, double scale, Rounding rounding);
/// The greatest absolute value; 0 if there are no numbers.
double greatest_size(std::span<const double> x);

}  // namespace kvplan::formats
