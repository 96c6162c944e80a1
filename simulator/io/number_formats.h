// Conversions of little-endian floating point numbers between a file and memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace kvplan::io {

/// IEEE binary16 to binary32, exact.
float float_from_f16(std::uint16_t bits);
/// Nearest binary16, ties to even; infinite if too large.
std::uint16_t f16_from_float(float value);
/// bfloat16 to binary32, exact.
inline float float_from_bf16(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}
/// Nearest bfloat16, ties to even. REQUIRES: finite.
inline std::uint16_t bf16_from_float(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace kvplan::io
