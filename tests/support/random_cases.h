// How many random cases a property test draws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace kvplan::test {

/// `usual`, unless KVPLAN_RANDOM_CASES asks for another number (5000) or for a part of the usual one (1/4: where each
/// case costs much more, as with sanitizers, which need to see every path and not every case). A part is at least
/// `enough`: of the cases that a test needs to meet what it asks for.
inline std::int64_t random_cases(std::int64_t usual, std::int64_t enough = 1) {
  const char* const asked = std::getenv("KVPLAN_RANDOM_CASES");
  if (asked == nullptr) return usual;
  if (std::string_view(asked).starts_with("1/"))
    return std::max<std::int64_t>(enough, usual / std::max(1LL, std::atoll(asked + 2)));
  return std::atoll(asked);
}

}  // namespace kvplan::test
