// Cases drawn by chance: each path takes one of its values, or a number of a range. The same seed draws the same cases
// on any machine: own generator, whole numbers, and only operations that IEEE 754 rounds in one way.
//
//   PATH=VALUE;A..B:STEP;...   each value alike (written as for all combinations, scenario/vary.h)
//   PATH=A..B                  each number alike, from A to B, with as many decimals as A and B have
//   PATH=A..B:log              the same numbers, each k as often as its step is wide on a logarithmic scale:
//                              in proportion to log((k + 1) / k)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/scenario/vary.h"

namespace kvplan::sweep {

/// What a path is drawn from.
struct Spread {
  std::string path;
  std::vector<std::string> values;  ///< empty: a range
  std::int64_t low{0}, high{0};     ///< of a range, both included, in units of 10^-decimals
  std::size_t decimals{0};
  bool logarithmic{false};
};

/// Errors: those of plan::parse_vary, a range that is none, a logarithmic one from 0.
Result<Spread> parse_spread(std::string_view text);

/// Number `draw` is what a uniform draw of 64 bits stands for on the logarithmic scale from low to high, both included.
/// REQUIRES: 1 <= low <= high.
std::int64_t logarithmic_draw(std::int64_t low, std::int64_t high, std::uint64_t draw);

/// So many cases that all differ. The first ones do not depend on how many there are. Values of a path are in the order
/// in which they are written, numbers of a range from the least that was drawn to the greatest. Errors: a path twice,
/// fewer different cases than that (or so few left that drawing does not find them). REQUIRES: a path, count > 0.
Result<plan::Combinations> draw_cases(const std::vector<Spread>& spreads, std::int64_t count,
                                      std::uint64_t seed);

}  // namespace kvplan::sweep
