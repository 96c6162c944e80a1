// A measured grid with its gaps filled. Measured times are used exactly, other places get estimates (grid_estimate.h).
// Beyond the last cached length the curve is the straight line through the last two points (constant if the line falls,
// or if a window hides longer lengths).
#pragma once

#include <optional>
#include <vector>

#include "simulator/kernels/measured_grid.h"
#include "simulator/kernels/time_source.h"

namespace kvplan::kernels {

class FilledGrid {
 public:
  /// `window`: most tokens that a sequence sees; 0: all.
  FilledGrid(const MeasuredGrid& grid, std::int64_t window);

  [[nodiscard]] const GridAxes& axes() const { return axes_; }
  [[nodiscard]] std::int64_t window() const { return window_; }
  /// Nothing if no neighbour was measured.
  [[nodiscard]] std::optional<SourcedTime> at(const GridPlace& place) const;
  /// Microseconds that one more cached token of a sequence and KV head takes at large lengths: over all curves along
  /// cached tokens, the median of the slope between their last two measured times.
  [[nodiscard]] double us_per_token() const { return us_per_token_; }

 private:
  [[nodiscard]] std::size_t index(const GridPlace& place) const;
  void continue_curve(GridPlace place);

  GridAxes axes_;
  std::int64_t window_;
  std::vector<SourcedTime> times_;  ///< 0 us: unknown
  double us_per_token_{0};
};

}  // namespace kvplan::kernels
