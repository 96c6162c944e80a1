// Stored numbers compared with the standard library and with their definitions.
#include "validator/kernels/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace kvplan::validator {
namespace {

/// A number of a format by its definition: sign, exponent, mantissa.
double by_definition(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto mantissa = static_cast<double>(bits & ((1U << mantissa_bits) - 1));
  const auto exponent = static_cast<int>((bits >> mantissa_bits) & ((1U << exponent_bits) - 1));
  const double sign = ((bits >> (exponent_bits + mantissa_bits)) & 1U) != 0 ? -1 : 1;
  const double unit = std::ldexp(1.0, -mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(mantissa * unit, 1 - bias);
  return sign * std::ldexp(1 + mantissa * unit, exponent - bias);
}

TEST(Numbers, Fp8IsItsDefinition) {
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    const float value = fp8_value(static_cast<std::uint8_t>(bits));
    if ((bits & 0x7FU) == 0x7FU) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      continue;
    }
    EXPECT_EQ(static_cast<double>(value), by_definition(bits, 4, 3)) << bits;
    EXPECT_EQ(fp8_bits(value), bits);
  }
}

TEST(Numbers, Fp16IsItsDefinition) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = fp16_value(static_cast<std::uint16_t>(bits));
    if ((bits & 0x7C00U) == 0x7C00U) {
      EXPECT_EQ(std::isinf(value), (bits & 0x3FFU) == 0) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), by_definition(bits, 5, 10)) << bits;
    ASSERT_EQ(fp16_bits(value), bits);
  }
}

/// A number halfway between two neighbours is rounded to the even one, any other to the nearer one.
template <class Value, class Bits>
void expect_nearest(std::uint32_t last, Value value, Bits bits_of_float) {
  for (std::uint32_t bits = 0; bits < last; ++bits) {
    const float low = value(bits), high = value(bits + 1);
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(bits_of_float(middle), bits % 2 == 0 ? bits : bits + 1) << bits;
    ASSERT_EQ(bits_of_float(std::nextafter(middle, low)), bits);
    ASSERT_EQ(bits_of_float(std::nextafter(middle, high)), bits + 1);
  }
}

TEST(Numbers, RoundsToNearestEven) {
  expect_nearest(
      0x7E, [](std::uint32_t b) { return fp8_value(static_cast<std::uint8_t>(b)); },
      [](float x) { return std::uint32_t{fp8_bits(x)}; });
  expect_nearest(
      0x7BFF, [](std::uint32_t b) { return fp16_value(static_cast<std::uint16_t>(b)); },
      [](float x) { return std::uint32_t{fp16_bits(x)}; });
  expect_nearest(
      0x7F7F, [](std::uint32_t b) { return bf16_value(static_cast<std::uint16_t>(b)); },
      [](float x) { return std::uint32_t{bf16_bits(x)}; });
}

TEST(Numbers, Ends) {
  const float infinity = std::numeric_limits<float>::infinity(), none = std::nanf("");
  EXPECT_EQ(fp8_value(fp8_bits(infinity)), 448);
  EXPECT_EQ(fp8_value(fp8_bits(-1e30F)), -448);
  EXPECT_EQ(fp8_bits(none) & 0x7F, 0x7F);
  EXPECT_EQ(fp16_value(fp16_bits(65520.0F)), infinity);
  EXPECT_EQ(fp16_value(fp16_bits(65519.0F)), 65504);
  EXPECT_TRUE(std::isnan(fp16_value(fp16_bits(none))));
  EXPECT_EQ(bf16_value(bf16_bits(infinity)), infinity);
  EXPECT_TRUE(std::isnan(bf16_value(bf16_bits(none))));
  EXPECT_TRUE(std::isnan(fp8_value(0xFF)));
}

TEST(Numbers, MadeUpIsAboutNormal) {
  double sum = 0, squares = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const auto x = static_cast<double>(made_up(7, static_cast<std::uint64_t>(i)));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
}

}  // namespace
}  // namespace kvplan::validator
