// The number of random cases of a property test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace kvplan::test {

/// The number of cases: `usual`, unless KVPLAN_RANDOM_CASES gives another number (5000) or a fraction of it (1/4). A
/// fraction is for builds in which each case takes much longer, such as sanitizers, which need every path but not every
/// case. It gives at least `enough` cases: the number with which a test reaches all its situations.
inline std::int64_t random_cases(std::int64_t usual, std::int64_t enough = 1) {
  const char* const asked = std::getenv("KVPLAN_RANDOM_CASES");
  if (asked == nullptr) return usual;
  if (std::string_view(asked).starts_with("1/"))
    return std::max<std::int64_t>(enough, usual / std::max(1LL, std::atoll(asked + 2)));
  return std::atoll(asked);
}

}  // namespace kvplan::test
