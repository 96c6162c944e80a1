// Steps with durations in an arithmetic progression: the time of many similar decode steps in closed form.
#pragma once

#include <cstdint>

#include "simulator/base/units.h"

namespace kvplan::core {

/// `steps` steps with durations first, first + growth, first + 2 growth, ...
struct StepSeries {
  Ticks first;
  Ticks growth;
  std::int64_t steps{1};

  /// Time from the start of the first step to the end of step `k` - 1; 128 bits because the product may be
  /// large.
  [[nodiscard]] constexpr Wide span(std::int64_t k) const {
    return Wide{first.count} * k + Wide{growth.count} * (Wide{k} * (k - 1) / 2);
  }
  [[nodiscard]] constexpr Ticks duration(std::int64_t k) const { return {first.count + growth.count * k}; }
  /// Steps [from, from + count) alone.
  [[nodiscard]] constexpr StepSeries part(std::int64_t from, std::int64_t count) const {
    return {duration(from), growth, count};
  }
};

/// The least number of steps, at most series.steps, until an end is at or past `distance`.
[[nodiscard]] std::int64_t steps_to_reach(const StepSeries& series, std::int64_t distance);

/// How many steps have ended `distance` ticks from the start of the first.
[[nodiscard]] std::int64_t steps_ended(const StepSeries& series, std::int64_t distance);

/// The last step that begins at or before `distance` ticks from the start of the first. REQUIRES: distance >= 0.
[[nodiscard]] std::int64_t step_at(const StepSeries& series, std::int64_t distance);

}  // namespace kvplan::core
