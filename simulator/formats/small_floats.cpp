#include "simulator/formats/small_floats.h"

#include <algorithm>
#include <cmath>

#include "simulator/base/check.h"

namespace kvplan::formats {

Rounded round_to(const SmallFloat& type, double number) {
  KVPLAN_CHECK(!std::isnan(number));
  const bool negative = std::signbit(number);
  const double size = std::fabs(number);
  const int sign_at = type.exponent_bits + type.mantissa_bits;
  const auto sign = static_cast<std::uint16_t>(negative ? 1U << static_cast<unsigned>(sign_at) : 0U);
  const auto signed_value = [negative](double value) { return negative ? -value : value; };
  if (size == 0) return {signed_value(0.0), sign};
  const int least = 1 - type.bias;  // exponent of the smallest normal number
  double value = type.largest;
  if (size < type.largest) {
    // Weight of the last mantissa bit; dividing by a power of two is exact here, so nearbyint rounds once.
    const int step = std::max(floor_log2(size), least) - type.mantissa_bits;
    value = std::min(std::ldexp(std::nearbyint(std::ldexp(size, -step)), step), type.largest);
  }
  if (value == 0) return {signed_value(0.0), sign};
  const int exponent = std::max(floor_log2(value), least);
  const auto units = static_cast<unsigned>(std::ldexp(value, type.mantissa_bits - exponent));
  // A normal number's units begin with a one, which adds 1 to the exponent field.
  const unsigned field = static_cast<unsigned>(exponent - least) << static_cast<unsigned>(type.mantissa_bits);
  return {signed_value(value), static_cast<std::uint16_t>(sign | (field + units))};
}

double to_half(double number) {
  return round_to(kBinary16, number).value;
}

double to_single(double number) {
  return static_cast<double>(static_cast<float>(number));
}

int floor_log2(double number) {
  KVPLAN_CHECK(number > 0 && std::isfinite(number));
  int exponent = 0;
  std::frexp(number, &exponent);
  return exponent - 1;
}

}  // namespace kvplan::formats
