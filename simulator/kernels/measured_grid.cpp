#include "simulator/kernels/measured_grid.h"

#include <algorithm>

namespace kvplan::kernels {
namespace {

Axis axis_of(const std::vector<MeasuredCall>& calls, std::int64_t MeasuredCall::*value) {
  Axis axis;
  axis.reserve(calls.size());
  for (const MeasuredCall& call : calls) axis.push_back(call.*value);
  std::sort(axis.begin(), axis.end());
  axis.erase(std::unique(axis.begin(), axis.end()), axis.end());
  return axis;
}

}  // namespace

std::optional<std::size_t> place_on(const Axis& axis, std::int64_t value) {
  const auto found = std::lower_bound(axis.begin(), axis.end(), value);
  if (found == axis.end() || *found != value) return std::nullopt;
  return static_cast<std::size_t>(found - axis.begin());
}

Result<MeasuredGrid> MeasuredGrid::make(const std::vector<MeasuredCall>& calls) {
  if (calls.empty()) return bad_input("expected at least one measured call");
  for (const MeasuredCall& call : calls)
    if (call.batch < 1 || call.length < 1 || call.kv_heads < 1 || call.group < 1 || !(call.us > 0))
      return bad_input("expected calls with at least one sequence, token and head and a time above 0");
  MeasuredGrid grid;
  grid.axes_ = {axis_of(calls, &MeasuredCall::batch), axis_of(calls, &MeasuredCall::length),
                axis_of(calls, &MeasuredCall::kv_heads), axis_of(calls, &MeasuredCall::group)};
  const GridAxes& axes = grid.axes_;
  grid.us_.assign(axes.batches.size() * axes.lengths.size() * axes.kv_heads.size() * axes.groups.size(), 0);
  for (const MeasuredCall& call : calls) {
    double& us =
        grid.us_[grid.index({*place_on(axes.batches, call.batch), *place_on(axes.lengths, call.length),
                             *place_on(axes.kv_heads, call.kv_heads), *place_on(axes.groups, call.group)})];
    if (us != 0) return bad_input("expected one time per call, found two");
    us = call.us;
  }
  grid.measured_ = calls.size();
  return grid;
}

void MeasuredGrid::forget(const GridPlace& place) {
  double& us = us_[index(place)];
  if (us != 0) --measured_;
  us = 0;
}

GridPlace MeasuredGrid::place(std::size_t index) const {
  GridPlace place;
  place.length = index % axes_.lengths.size();
  index /= axes_.lengths.size();
  place.batch = index % axes_.batches.size();
  index /= axes_.batches.size();
  place.group = index % axes_.groups.size();
  place.kv_heads = index / axes_.groups.size();
  return place;
}

}  // namespace kvplan::kernels
