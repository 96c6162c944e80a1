// Checks of invariants. A broken one stops the program, in release builds too: a wrong plan is worse than no plan. They
// are only for mistakes of the program; an error that a user can cause (files, flags) is a `Result` (result.h).
#pragma once

#include <cstdint>
#include <type_traits>

namespace kvplan {

/// An integer, or the number of an id or of any other enumerator.
struct CheckNumber {
  // Not explicit: arguments of KVPLAN_CHECK are converted to it.
  constexpr CheckNumber(std::int64_t n) : value(n) {}
  template <class E>
  requires std::is_enum_v<E>
  constexpr CheckNumber(E e) : value(static_cast<std::int64_t>(e)) {}
  std::int64_t value;
};

/// Prints the condition, its place in the source and up to three numbers to standard error, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line, CheckNumber a = 0,
                               CheckNumber b = 0, CheckNumber c = 0) noexcept;

}  // namespace kvplan

/// KVPLAN_CHECK(condition[, number...]) : up to three numbers help to understand the failure.
#define KVPLAN_CHECK(condition, ...)                                                     \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      ::kvplan::check_failed(#condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__); \
    }                                                                                    \
  } while (false)
