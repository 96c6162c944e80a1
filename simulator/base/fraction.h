// Exact positive fractions, for factors that must not be rounded, such as a speed-up.
#pragma once

#include <cstdint>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan {

/// An exact positive fraction p/q.
struct Fraction {
  std::int64_t numerator{1};
  std::int64_t denominator{1};
  friend bool operator==(const Fraction&, const Fraction&) = default;
};

/// Reads "p/q" or a decimal (0.25, 2, 1.5e1) exactly; positive, both parts below 2^31 once reduced.
Result<Fraction> parse_fraction(std::string_view text);

}  // namespace kvplan
