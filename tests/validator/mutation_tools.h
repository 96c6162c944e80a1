// How mutations find a record to change.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "simulator/base/random.h"
#include "tests/validator/mutations.h"

namespace kvplan::test {

using Records = std::vector<Record>;

/// Index of a random record for which `fits` is true; -1 if there is none.
template <class Fits>
std::ptrdiff_t pick(const Records& records, Random& random, Fits fits) {
  std::vector<std::ptrdiff_t> found;
  for (std::size_t i = 0; i < records.size(); ++i)
    if (fits(records[i])) found.push_back(static_cast<std::ptrdiff_t>(i));
  return found.empty() ? -1 : found[random.below(found.size())];
}

/// Calls `change` on a random fact of this kind for which `fits` is true.
template <class Kind, class Fits, class Change>
bool on_a(WholeLog& log, Random& random, std::string& what, Fits fits, Change change) {
  const auto i = pick(log.records, random, [&](const Record& record) {
    const auto* fact = std::get_if<Kind>(&record.fact);
    return fact != nullptr && fits(*fact);
  });
  if (i < 0) return false;
  what = "record " + std::to_string(i);
  change(std::get<Kind>(log.records[static_cast<std::size_t>(i)].fact));
  return true;
}
inline constexpr auto kAny = [](const auto&) { return true; };

template <class T>
void one_off(T& number, Random& random) {
  random.chance(1, 2) ? ++number : --number;
}

}  // namespace kvplan::test
