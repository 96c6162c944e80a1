#include "simulator/core/step_series.h"

#include <algorithm>
#include <cmath>

namespace kvplan::core {

std::int64_t steps_to_reach(const StepSeries& series, std::int64_t distance) {
  if (series.span(series.steps) < distance) return series.steps;
  std::int64_t low = 1;
  std::int64_t high = series.steps;
  if (series.steps > 8 && series.first.count > 0) {  // a first guess from the real root narrows the search
    const double a = static_cast<double>(series.growth.count) / 2;
    const double b = static_cast<double>(series.first.count) - a;
    const auto d = static_cast<double>(distance);
    const double root = a > 0 ? (-b + std::sqrt(b * b + 4 * a * d)) / (2 * a) : d / b;
    const auto guess = static_cast<std::int64_t>(std::clamp(root, 1.0, static_cast<double>(high)));
    if (guess > 3 && series.span(guess - 2) < distance) low = guess - 1;
    if (guess + 2 < high && series.span(guess + 2) >= distance) high = guess + 2;
  }
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (series.span(middle) >= distance) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::int64_t steps_ended(const StepSeries& series, std::int64_t distance) {
  if (distance < 0) return 0;
  return series.span(series.steps) <= distance ? series.steps : step_at(series, distance);
}

std::int64_t step_at(const StepSeries& series, std::int64_t distance) {
  std::int64_t step = 0;
  std::int64_t high = series.steps - 1;
  while (step < high) {
    const std::int64_t middle = step + (high - step + 1) / 2;
    if (series.span(middle) <= distance) {
      step = middle;
    } else {
      high = middle - 1;
    }
  }
  return step;
}

}  // namespace kvplan::core
