#include "simulator/io/number_formats.h"

#include <cmath>

namespace kvplan::io {

float float_from_f16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const auto fraction = static_cast<float>(bits & 0x3FF);
  float value = 0;
  if (exponent == 31) {
    value = (bits & 0x3FF) == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(1024.0F + fraction, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

std::uint16_t f16_from_float(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float size = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00);
  if (size >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7C00);
  if (size == 0) return sign;
  int exponent = 0;
  std::frexp(size, &exponent);                            // size = m * 2^exponent, 0.5 <= m < 1
  const int step = exponent > -14 ? exponent - 11 : -24;  // weight of the last fraction bit
  // Exact scaling, then round to nearest even.
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, -step)));
  // units is at most 2048: 2048 carries into the next exponent by plain addition.
  const std::uint32_t base = step == -24 ? 0 : static_cast<std::uint32_t>(step + 24) << 10;
  return static_cast<std::uint16_t>(sign | (base + units));
}

}  // namespace kvplan::io
