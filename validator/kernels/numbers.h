// Numbers as caches store them, and generated numbers that are a function of their position. Plain inline functions of
// integers and single float operations, so that the same code gives the same bits on the host and on a device.
//
//   fp16   1 sign, 5 exponent, 10 mantissa bits (IEEE 754 binary16)
//   bf16   the upper half of a float
//   fp8    e4m3: 1 sign, 4 exponent, 3 mantissa bits, bias 7, no infinities, 0x7F and 0xFF are NaN, largest 448,
//          smallest 2^-9 (Open Compute Project, "8-bit Floating Point Specification", 2023)
//
// Rounding is to nearest, ties to even, everywhere. A number too large for fp8 becomes 448 (as with `cvt.satfinite`),
// one too large for fp16 becomes infinity.
#pragma once

#include <bit>
#include <cstdint>

#include "validator/replay/cells.h"  // KVPLAN_BOTH, mix

namespace kvplan::validator {

enum class Stored : std::int32_t { kFp16, kBf16, kFp8 };

KVPLAN_BOTH inline std::int64_t bytes_of(Stored stored) {
  return stored == Stored::kFp8 ? 1 : 2;
}

KVPLAN_BOTH inline std::uint32_t float_bits(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  return std::bit_cast<std::uint32_t>(x);
#endif
}
KVPLAN_BOTH inline float float_of_bits(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

/// A float's magnitude bits, shifted right by `drop` and rounded to nearest even.
KVPLAN_BOTH inline std::uint32_t round_off(std::uint32_t bits, int drop) {
  const std::uint32_t half = (1U << (drop - 1)) - 1 + ((bits >> drop) & 1U);
  return (bits + half) >> drop;
}

KVPLAN_BOTH inline float bf16_value(std::uint16_t bits) {
  return float_of_bits(static_cast<std::uint32_t>(bits) << 16);
}
KVPLAN_BOTH inline std::uint16_t bf16_bits(float x) {
  const std::uint32_t bits = float_bits(x);
  if ((bits & 0x7FFF'FFFFU) > 0x7F80'0000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);  // NaN
  return static_cast<std::uint16_t>(round_off(bits, 16));
}

/// Exact: a half's subnormals are normal floats, and scaling by a power of two rounds nothing.
KVPLAN_BOTH inline float fp16_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7FFFU) << 13;
  const std::uint32_t scaled = float_bits(float_of_bits(magnitude) * 0x1p112F);
  const std::uint32_t whole = magnitude >= 0x0F80'0000U ? magnitude | 0x7F80'0000U : scaled;  // infinity, NaN
  return float_of_bits(sign | whole);
}
KVPLAN_BOTH inline std::uint16_t fp16_bits(float x) {
  const std::uint32_t bits = float_bits(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  std::uint32_t half = 0;
  if (magnitude > 0x7F80'0000U) {
    half = 0x7E00U;
  } else if (magnitude >= 0x4780'0000U) {  // 65536 and more
    half = 0x7C00U;
  } else if (magnitude >= 0x3880'0000U) {  // 2^-14 and more: normal
    half = round_off(magnitude - 0x3800'0000U, 13);
  } else if (magnitude >= 0x3300'0000U) {  // 2^-25 and more
    const int drop = 126 - static_cast<int>(magnitude >> 23);
    half = round_off((magnitude & 0x7F'FFFFU) | 0x80'0000U, drop);
  }
  return static_cast<std::uint16_t>(sign | half);
}

KVPLAN_BOTH inline float fp8_value(std::uint8_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80U) << 24;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7FU) << 20;
  const std::uint32_t scaled = float_bits(float_of_bits(magnitude) * 0x1p120F);
  return float_of_bits(sign | ((bits & 0x7FU) == 0x7FU ? 0x7FC0'0000U : scaled));
}
KVPLAN_BOTH inline std::uint8_t fp8_bits(float x) {
  const std::uint32_t bits = float_bits(x);
  const std::uint32_t sign = (bits >> 24) & 0x80U;
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  std::uint32_t byte = 0;
  if (magnitude > 0x7F80'0000U) {
    byte = 0x7FU;
  } else if (magnitude >= 0x43E0'0000U) {  // 448 and more
    byte = 0x7EU;
  } else if (magnitude >= 0x3C80'0000U) {  // 2^-6 and more: normal
    byte = round_off(magnitude - 0x3C00'0000U, 20);
  } else if (magnitude >= 0x3A80'0000U) {  // 2^-10 and more
    const int drop = 141 - static_cast<int>(magnitude >> 23);
    byte = round_off((magnitude & 0x7F'FFFFU) | 0x80'0000U, drop);
  }
  return static_cast<std::uint8_t>(sign | byte);
}

/// REQUIRES: the bits have the width of the stored type.
KVPLAN_BOTH inline float value_of(Stored stored, std::uint32_t bits) {
  if (stored == Stored::kFp8) return fp8_value(static_cast<std::uint8_t>(bits));
  return stored == Stored::kBf16 ? bf16_value(static_cast<std::uint16_t>(bits))
                                 : fp16_value(static_cast<std::uint16_t>(bits));
}
KVPLAN_BOTH inline std::uint32_t bits_of(Stored stored, float x) {
  if (stored == Stored::kFp8) return fp8_bits(x);
  return stored == Stored::kBf16 ? bf16_bits(x) : fp16_bits(x);
}

/// A generated number: approximately normal, mean 0, standard deviation 1, at most 3.5: the sum of four uniform
/// numbers. Only one multiplication rounds, so the bits are the same everywhere.
KVPLAN_BOTH inline float made_up(std::uint64_t seed, std::uint64_t position) {
  const std::uint64_t x = mix(seed ^ mix(position));
  const auto sum =
      static_cast<std::int32_t>((x & 0xFFFFU) + ((x >> 16) & 0xFFFFU) + ((x >> 32) & 0xFFFFU) + (x >> 48));
  return static_cast<float>(sum - 131'070) * (1.0F / 37'837.0F);
}

/// Generated contents of a memory of rows. Two channels of each row may be larger than the others, as in keys of real
/// models (otherwise formats with one scale per token would look better than they are).
struct MadeUp {
  std::uint64_t seed{1};
  Stored stored{Stored::kBf16};
  std::int32_t row{128};  ///< elements of a row
  float outliers{1};      ///< factor of channels 5 and row / 2 + 13
};
KVPLAN_BOTH inline std::uint32_t made_up_bits(const MadeUp& of, std::uint64_t element) {
  const auto channel = static_cast<std::int32_t>(element % static_cast<std::uint64_t>(of.row));
  const float x = made_up(of.seed, element);
  return bits_of(of.stored, channel == 5 || channel == of.row / 2 + 13 ? x * of.outliers : x);
}

}  // namespace kvplan::validator
