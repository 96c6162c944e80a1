// A measured grid without gaps where something can be said: measured times as they are, estimates for the other places
// (grid_estimate.h), and behind the last of them along the cached tokens the straight line through the last two (level
// where it falls or a window hides what is longer).
#pragma once

#include <optional>
#include <vector>

#include "simulator/kernels/measured_grid.h"
#include "simulator/kernels/time_source.h"

namespace kvplan::kernels {

class FilledGrid {
 public:
  /// `window`: tokens that a sequence sees at most; 0: all.
  FilledGrid(const MeasuredGrid& grid, std::int64_t window);

  [[nodiscard]] const GridAxes& axes() const { return axes_; }
  [[nodiscard]] std::int64_t window() const { return window_; }
  /// Nothing where no neighbour was measured.
  [[nodiscard]] std::optional<SourcedTime> at(const GridPlace& place) const;
  /// What a cached token of a sequence and KV head adds where much is read: the median over all curves along the
  /// cached tokens of the rise between their last two measured times. Microseconds.
  [[nodiscard]] double us_per_token() const { return us_per_token_; }

 private:
  [[nodiscard]] std::size_t index(const GridPlace& place) const;
  void continue_curve(GridPlace place);

  GridAxes axes_;
  std::int64_t window_;
  std::vector<SourcedTime> times_;  ///< 0 us: nothing is known
  double us_per_token_{0};
};

}  // namespace kvplan::kernels
