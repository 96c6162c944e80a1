#include "simulator/kernels/filled_grid.h"

#include <algorithm>

#include "simulator/kernels/grid_estimate.h"

namespace kvplan::kernels {
namespace {

/// Calls `visit` with the first place of every curve that runs along the axis of cached tokens.
template <class Visit>
void each_curve(const GridAxes& axes, Visit visit) {
  for (std::size_t h = 0; h < axes.kv_heads.size(); ++h)
    for (std::size_t g = 0; g < axes.groups.size(); ++g)
      for (std::size_t b = 0; b < axes.batches.size(); ++b) visit(GridPlace{b, 0, h, g});
}

double median_rise(const MeasuredGrid& grid) {
  const GridAxes& axes = grid.axes();
  std::vector<double> rises;
  each_curve(axes, [&](GridPlace place) {
    std::optional<std::size_t> last, before;
    for (place.length = 0; place.length < axes.lengths.size(); ++place.length) {
      if (grid.at(place) == 0) continue;
      before = last;
      last = place.length;
    }
    if (!before) return;
    GridPlace a = place, b = place;
    a.length = *before;
    b.length = *last;
    const auto tokens = static_cast<double>((axes.lengths[*last] - axes.lengths[*before]) *
                                            axes.batches[place.batch] * axes.kv_heads[place.kv_heads]);
    rises.push_back(std::max(0.0, grid.at(b) - grid.at(a)) / tokens);
  });
  if (rises.empty()) return 0;
  const auto middle = rises.begin() + static_cast<std::ptrdiff_t>((rises.size() - 1) / 2);
  std::nth_element(rises.begin(), middle, rises.end());
  return *middle;
}

}  // namespace

FilledGrid::FilledGrid(const MeasuredGrid& grid, std::int64_t window)
    : axes_(grid.axes()), window_(window), times_(grid.places()), us_per_token_(median_rise(grid)) {
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const GridPlace place = grid.place(i);
    if (const double us = grid.at(place); us > 0) {
      times_[i] = {us, TimeSource::kTable};
    } else {
      times_[i] = estimate(grid, place, window).value_or(SourcedTime{});
    }
  }
  each_curve(axes_, [&](const GridPlace& place) { continue_curve(place); });
}

std::size_t FilledGrid::index(const GridPlace& place) const {
  return ((place.kv_heads * axes_.groups.size() + place.group) * axes_.batches.size() + place.batch) *
             axes_.lengths.size() +
         place.length;
}

std::optional<SourcedTime> FilledGrid::at(const GridPlace& place) const {
  const SourcedTime& time = times_[index(place)];
  if (time.us == 0) return std::nullopt;
  return time;
}

void FilledGrid::continue_curve(GridPlace place) {
  const Axis& lengths = axes_.lengths;
  SourcedTime* const curve = &times_[index(place)];
  for (std::size_t l = 2; l < lengths.size(); ++l) {
    if (curve[l].us > 0 || curve[l - 1].us == 0 || curve[l - 2].us == 0) continue;
    const bool level = window_ > 0 && lengths[l - 1] >= window_;
    const double rise = level ? 0
                              : std::max(0.0, curve[l - 1].us - curve[l - 2].us) /
                                    static_cast<double>(lengths[l - 1] - lengths[l - 2]);
    curve[l] = {curve[l - 1].us + rise * static_cast<double>(lengths[l] - lengths[l - 1]),
                TimeSource::kExtrapolated};
  }
}

}  // namespace kvplan::kernels
