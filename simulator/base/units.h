// Units as types. An amount of one unit never converts to another by itself: conversion is a named function
// that is given the shape it needs (bytes of a token, tokens of a block) and says how it rounds.
//
// All counts are signed 64-bit. Sums over time are `Wide` (128-bit), so that a byte count multiplied by a
// run of a hundred days in ticks cannot overflow.
#pragma once

#include <compare>
#include <cstdint>

namespace kvplan {

/// Signed 64-bit amount of one unit. Different tags never mix.
template <class Tag>
struct Quantity {
  std::int64_t count{0};
  constexpr auto operator<=>(const Quantity&) const = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.count + b.count}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.count - b.count}; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t times) { return {a.count * times}; }
  friend constexpr Quantity operator*(std::int64_t times, Quantity a) { return {a.count * times}; }
  constexpr Quantity& operator+=(Quantity b) {
    count += b.count;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity b) {
    count -= b.count;
    return *this;
  }
};

using Bytes = Quantity<struct BytesTag>;
using Tokens = Quantity<struct TokensTag>;
using Blocks = Quantity<struct BlocksTag>;

/// A span of simulated time in ticks of 2^-10 ns. Fine enough that a step time needs no rounding of its own:
/// coefficients are rounded once, when they are read, and everything after that is integer arithmetic.
using Ticks = Quantity<struct TicksTag>;
/// A moment, in ticks since the first arrival of the trace. 64 bits last 104 days.
struct SimTime {
  Ticks since_start;
  constexpr auto operator<=>(const SimTime&) const = default;
  friend constexpr SimTime operator+(SimTime t, Ticks d) { return {t.since_start + d}; }
  friend constexpr Ticks operator-(SimTime a, SimTime b) { return a.since_start - b.since_start; }
};

/// 128-bit signed integer for products of an amount and a time.
__extension__ typedef __int128 Wide;

inline constexpr std::int64_t kTicksPerNs = 1024;
inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;

/// Whole nanoseconds as ticks: exact. REQUIRES: |ns| < 2^53.
constexpr Ticks ticks_from_ns(std::int64_t ns) {
  return {ns * kTicksPerNs};
}
/// Ticks as whole nanoseconds, rounded towards minus infinity.
constexpr std::int64_t ns_floor(Ticks t) {
  return t.count >> 10;
}
/// Ticks as seconds, for people and for JSON.
constexpr double seconds(Ticks t) {
  return static_cast<double>(t.count) /
         (static_cast<double>(kTicksPerNs) * static_cast<double>(kNsPerSecond));
}

/// Ceiling division. REQUIRES: a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Blocks that hold `tokens`, the last one possibly part full.
constexpr Blocks blocks_for(Tokens tokens, Tokens block) {
  return {ceil_div(tokens.count, block.count)};
}

/// Position of a request in its trace (file order, 0-based).
using RequestId = std::int32_t;
/// Position of a block in its pool, 0-based.
using BlockId = std::int32_t;
inline constexpr BlockId kNoBlock = -1;

}  // namespace kvplan
