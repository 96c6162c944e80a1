// Broken invariants stop the program, in release builds too: a wrong plan is worse than no plan.
// For mistakes of the program only. What a user can cause (files, flags) is a `Result` (result.h).
#pragma once

#include <cstdint>

namespace kvplan {

/// Prints the condition, where it stands and up to three numbers to standard error, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line, std::int64_t a = 0,
                               std::int64_t b = 0, std::int64_t c = 0) noexcept;

}  // namespace kvplan

/// KVPLAN_CHECK(condition[, number...]) : up to three numbers help to understand the failure.
#define KVPLAN_CHECK(condition, ...)                                                     \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      ::kvplan::check_failed(#condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__); \
    }                                                                                    \
  } while (false)
