// Time is a type: `Ticks` is a duration, `SimTime` a moment. Neither converts to a number implicitly; each conversion
// is a named function that says how it rounds. All other amounts are std::int64_t with the unit last in the name
// (`pool_tokens`, `capacity_bytes`, `wait_ns`).
//
// Sums over time are `Wide` (128-bit), so that a byte count multiplied by a run of a hundred days in ticks
// cannot overflow.
#pragma once

#include <compare>
#include <cstdint>

namespace kvplan {

/// A duration of simulated time in ticks of 2^-10 ns. Fine enough that step times need no rounding of their own:
/// coefficients are rounded once, when they are read, and everything after that is integer arithmetic.
struct Ticks {
  std::int64_t count{0};
  constexpr auto operator<=>(const Ticks&) const = default;
  friend constexpr Ticks operator+(Ticks a, Ticks b) { return {a.count + b.count}; }
  friend constexpr Ticks operator-(Ticks a, Ticks b) { return {a.count - b.count}; }
};
/// A moment, in ticks since the first arrival of the trace. 64 bits cover 104 days.
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

}  // namespace kvplan
