// Reads decimal digits eight at a time: for the fast paths of the table readers.
//
// Each function reads a simple value at the front of a text and returns the position after it. It returns nullptr for
// an invalid value, or a valid value in another form; then the slow path (fields.h) reads the value or reports the
// error. If both paths read a value they agree.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace kvplan::traces {

/// Functions that require it may read this many bytes behind a text (and ignore them).
inline constexpr int kDigitsRoom = 8;

/// Eight bytes as a number, the first in its lowest byte.
inline std::uint64_t eight_bytes(const char* at) {
  std::uint64_t text;
  std::memcpy(&text, at, sizeof text);
  return std::endian::native == std::endian::little ? text : __builtin_bswap64(text);
}

/// The highest bit of each byte that is greater than 9, up to and including the first such byte; later bits are
/// meaningless (the addition carries over).
constexpr std::uint64_t above_nine(std::uint64_t bytes) {
  return (bytes | (bytes + 0x7676767676767676)) & 0x8080808080808080;
}

/// The digits at the front of eight bytes.
struct Digits {
  std::uint32_t value;
  int count;  ///< 0 to 8
};

/// REQUIRES: eight bytes at `at` may be read.
inline Digits digits_at(const char* at) {
  std::uint64_t text = eight_bytes(at) ^ 0x3030303030303030;  // a digit becomes its value
  const std::uint64_t others = above_nine(text);
  const int count = others == 0 ? 8 : std::countr_zero(others) / 8;
  if (count == 0) return {0, 0};
  text <<= 64 - 8 * count;                                  // zeros in front
  text = (text * 10 + (text >> 8)) & 0x00FF00FF00FF00FF;    // pairs,
  text = (text * 100 + (text >> 16)) & 0x0000FFFF0000FFFF;  // fours,
  return {static_cast<std::uint32_t>(text * 10'000 + (text >> 32)), count};
}

inline constexpr std::int64_t kPowersOfTen[]{1,       10,        100,        1000,        10'000,
                                             100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};

/// A whole number of up to 7 digits. REQUIRES: kDigitsRoom bytes behind `end`.
inline const char* plain_count(const char* at, const char* end, std::int32_t& value) {
  const Digits digits = digits_at(at);
  at += digits.count;
  if (digits.count == 0 || digits.count == 8 || at > end) return nullptr;
  value = static_cast<std::int32_t>(digits.value);
  return at;
}

/// A decimal number with up to 15 digits before and up to 7 after the point, as a whole number of 10^-`exponent` (0
/// to 9); it may have no further digits. REQUIRES: kDigitsRoom bytes behind `end`.
inline const char* plain_decimal(const char* at, const char* end, int exponent, std::int64_t& value) {
  Digits digits = digits_at(at);
  at += digits.count;
  if (digits.count == 0 || at > end) return nullptr;
  std::int64_t out = digits.value;
  if (digits.count == 8) {
    digits = digits_at(at);
    at += digits.count;
    if (digits.count == 8 || at > end) return nullptr;
    out = out * kPowersOfTen[digits.count] + digits.value;
  }
  if (__builtin_mul_overflow(out, kPowersOfTen[exponent], &out)) return nullptr;
  if (at != end && *at == '.') {
    digits = digits_at(++at);
    at += digits.count;
    if (digits.count == 0 || digits.count == 8 || digits.count > exponent || at > end) return nullptr;
    if (__builtin_add_overflow(out, digits.value * kPowersOfTen[exponent - digits.count], &out))
      return nullptr;
  }
  value = out;
  return at;
}

/// A list of whole numbers of up to 19 digits in brackets, with at most one space after each comma: calls
/// `take(value)` for each, also for those before something that is not simple. REQUIRES: kDigitsRoom bytes behind
/// `end`.
template <class Take>
const char* plain_ids(const char* at, const char* end, Take&& take) {
  if (at == end || *at++ != '[') return nullptr;
  if (at < end && *at == ']') return at + 1;
  while (at < end) {
    Digits digits = digits_at(at);
    const char* const start = at;
    std::uint64_t value = digits.value;
    at += digits.count;
    while (digits.count == 8 && at < end) {
      digits = digits_at(at);
      at += digits.count;
      value = value * static_cast<std::uint64_t>(kPowersOfTen[digits.count]) + digits.value;
    }
    if (at == start || at >= end || at - start > 19) return nullptr;
    take(value);
    if (*at == ']') return at + 1;
    if (*at++ != ',') return nullptr;
    if (at < end && *at == ' ') ++at;
  }
  return nullptr;
}

/// `hh:mm:ss` as seconds of a day; -1 for anything else. REQUIRES: eight bytes at `at`.
inline std::int64_t seconds_of_day(const char* at) {
  const std::uint64_t text = eight_bytes(at) ^ 0x30303A30303A3030;  // digits become values, colons 0
  const auto pair = [text](int byte) {
    return static_cast<std::int64_t>((text >> (8 * byte) & 255) * 10 + (text >> (8 * byte + 8) & 255));
  };
  const bool shaped = above_nine(text) == 0 && (text & 0x0000FF0000FF0000) == 0;
  if (!shaped || pair(0) > 23 || pair(3) > 59 || pair(6) > 59) return -1;
  return (pair(0) * 60 + pair(3)) * 60 + pair(6);
}

}  // namespace kvplan::traces
