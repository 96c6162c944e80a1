// What a person looks at in the results of runs: one selection for all views of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace kvplan::runs {

/// A half-open range of time, in ticks since the trace's first arrival.
struct TimeRange {
  std::int64_t begin{0}, end{0};
  [[nodiscard]] std::int64_t length() const { return end - begin; }
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

struct Selection {
  TimeRange visible;                    ///< the part of the time that charts show
  std::optional<std::int64_t> cursor;   ///< a moment, in ticks
  std::optional<TimeRange> marked;      ///< a range to look at closely
  std::optional<std::int64_t> request;  ///< position in the trace
  std::optional<std::int64_t> block;    ///< block id
  friend bool operator==(const Selection&, const Selection&) = default;
};

/// Most scenarios that are shown side by side.
inline constexpr std::size_t kMostSlots = 4;

}  // namespace kvplan::runs
