// The effect of a factor: the mean of a figure at each value of a path, compared with the mean over all cases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/report/content.h"
#include "simulator/sweep/columns.h"

namespace kvplan::sweep {

/// The effect of one value of a path, or of a range of values (groups.h).
struct Level {
  std::string label;
  std::int64_t cases{0};
  std::optional<double> mean;        ///< absent without a case
  std::optional<double> difference;  ///< its mean minus the mean over all cases
};

struct Effect {
  std::string path;
  std::vector<Level> levels;
  std::optional<double> spread;  ///< greatest minus least mean of a level
};

struct Effects {
  NumberColumn figure;
  std::int64_t cases{0};  ///< cases that ran and have the figure
  std::optional<double> mean;
  std::vector<Effect> effects;  ///< for the paths with several values, in order
};

/// If a path has at most this many values, each value is a level.
inline constexpr std::size_t kMostLevels = 24;
/// Number of ranges, if a path has more numbers than that.
inline constexpr std::size_t kLevelRanges = 8;

/// Means are sums in the order of cases, divided once. A path with more than kMostLevels values that are not numbers
/// is left out.
Result<Effects> effects_of(Database& database, const NumberColumn& figure);

/// One table for each path.
std::vector<report::Table> effect_tables(const Effects& effects);
/// One line for each level: figure, path, value, cases, mean, difference.
std::string effects_csv(const std::vector<Effects>& all);

}  // namespace kvplan::sweep
