// Estimates the time at a place of a grid from the measured places around it, without its own time.
//
// Each measured neighbour is evidence: a time and a doubt (a share of that time). The estimate is the mean of the
// evidence, weighted by 1 / doubt^2. A pair of neighbours on both sides that agree is trusted more: with
// `spread` = |a - b| / mean(a, b) the doubt of a pair is 1.5 % + 0.3 x spread.
//
//   pairs   the nearest neighbours on both sides, along a line in the grid:
//           equal work, two ways: KV heads for sequences (half the heads of twice the batch, twice the heads of half of
//           it); query heads of a group for sequences; the geometric mean of the two
//           equal tokens: cached tokens for sequences (half as many of twice the batch, ...); the geometric mean;
//           not where a window hides some of these tokens
//           one axis alone: cached tokens, batch, query heads of a group; on the straight line between the two
//   sides   if KV heads for sequences, or the group, have a neighbour on one side only: its time, with twice the
//           doubt; the spread is that to the neighbour behind it (15 % if there is none)
//   beyond  only if there is no pair: one side of equal tokens, and the straight lines through the last two along
//   cached
//           tokens and along the batch, constant if they fall; with twice the doubt; the spread is the length of the
//           extrapolation
//
// Groups of one query head (no sharing) run other kernels in most engines, so they are not used as neighbours of
// others.
// Only + - x / and square roots in a fixed order: the same bits on every machine.
#pragma once

#include <optional>

#include "simulator/kernels/measured_grid.h"
#include "simulator/kernels/time_source.h"

namespace kvplan::kernels {

/// `window`: most tokens that a sequence sees; 0: all. The source is kInterpolated if there was a pair, else
/// kExtrapolated; nothing if no neighbour was measured.
std::optional<SourcedTime> estimate(const MeasuredGrid& grid, const GridPlace& place, std::int64_t window);

/// Doubt of the value between two neighbours with these times, as a share.
double doubt_of_pair(double a_us, double b_us);

}  // namespace kvplan::kernels
