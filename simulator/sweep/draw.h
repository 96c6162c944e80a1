// Random cases: each path takes one of its values, or a number from a range. A seed gives the same cases on any
// machine, since drawing uses its own generator, whole numbers, and only operations that IEEE 754 rounds in one way.
//
//   PATH=VALUE;A..B:STEP;...   each value with equal probability (notation of scenario/vary.h)
//   PATH=A..B                  each number from A to B with equal probability, with as many decimals as A and B have
//   PATH=A..B:log              the same numbers, each k with a probability proportional to its width on a logarithmic
//                              scale: log((k + 1) / k)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/scenario/vary.h"

namespace kvplan::sweep {

/// The values from which a path's value is drawn.
struct Spread {
  runs::Vary of;                 ///< without values: a range
  std::int64_t low{0}, high{0};  ///< ends of the range, both included, in units of 10^-decimals
  std::size_t decimals{0};
  bool logarithmic{false};
};

/// Errors: those of runs::parse_vary, an invalid range, a logarithmic range from 0.
Result<Spread> parse_spread(std::string_view text);

/// The number in [low, high] that a uniform 64-bit number `draw` selects on the logarithmic scale. REQUIRES: 1 <= low
/// <= high.
std::int64_t logarithmic_draw(std::int64_t low, std::int64_t high, std::uint64_t draw);

/// Draws `count` different cases. The first ones do not depend on `count`. Values of a path are in the order in which
/// they are written, numbers of a range ascending. Errors: a path twice, fewer different cases than that (or so few
/// left that drawing does not find them), interrupted: `stop`, which is asked from time to time, returned true.
/// REQUIRES: a path, count > 0.
Result<runs::Combinations> draw_cases(const std::vector<Spread>& spreads, std::int64_t count,
                                      std::uint64_t seed, const std::function<bool()>& stop = {});

}  // namespace kvplan::sweep
