// What a factor does: the mean of a figure at each value of a path, against the mean over all cases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/report/content.h"
#include "simulator/sweep/columns.h"

namespace kvplan::sweep {

/// At one value of a path, or a range of values (groups.h).
struct Level {
  std::string label;
  std::int64_t cases{0};
  std::optional<double> mean;        ///< absent without a case
  std::optional<double> difference;  ///< from the mean over all cases
};

struct Effect {
  std::string path;
  std::vector<Level> levels;
  std::optional<double> spread;  ///< the greatest mean of a level less the least
};

struct Effects {
  NumberColumn figure;
  std::int64_t cases{0};  ///< that are done and have the figure
  std::optional<double> mean;
  std::vector<Effect> effects;  ///< of the paths with several values, in order
};

/// Values of a path that are told apart, at most.
inline constexpr std::size_t kMostLevels = 24;
/// Ranges of numbers, where there are more.
inline constexpr std::size_t kLevelRanges = 8;

/// Means are sums in the order of cases, divided once. A path with more than kMostLevels values that are no numbers is
/// left out.
Result<Effects> effects_of(Database& database, const NumberColumn& figure);

/// One for each path.
std::vector<report::Table> effect_tables(const Effects& effects);
/// A line for each level: figure, path, value, cases, mean, difference.
std::string effects_csv(const std::vector<Effects>& all);

}  // namespace kvplan::sweep
