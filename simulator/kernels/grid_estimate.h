// The estimated time of a grid point from the measured points around it; the point's own time is not used.
//
// Each measured neighbour (or pair of neighbours) gives an estimate with a doubt, a relative error; the result is their
// mean, weighted by 1 / doubt^2. The more two neighbours on both sides agree, the lower their doubt: with
// `spread` = |a - b| / mean(a, b) the doubt of a pair is 1.5 % + 0.3 x spread.
//
//   pairs   the nearest neighbours on both sides, along a line in the grid:
//           equal work, two ways: KV heads traded for sequences (half the heads with twice the batch, twice the heads
//           with half of it); query heads per KV head traded for sequences; the geometric mean of the two times
//           equal tokens: cached tokens traded for sequences (half as many with twice the batch, ...); the geometric
//           mean; not if a window hides some of these tokens
//           one axis alone: cached tokens, batch, query heads per KV head; the straight line between the two
//   sides   a neighbour on one side only, trading KV heads or query heads per KV head for sequences: its time, with
//           twice the doubt; the spread is that to the next neighbour behind it (15 % if there is none)
//   beyond  only if there is no pair: one side of equal tokens, and the straight lines through the last two points
//           along cached tokens and along the batch (constant if they fall); with twice the doubt, the spread being the
//           relative distance of the extrapolation
//
// Groups of one query head (no sharing) run other kernels in most engines; they are neighbours of each other only.
// Only + - x / and square roots in a fixed order: the same bits on every machine.
#pragma once

#include <optional>

#include "simulator/kernels/measured_grid.h"
#include "simulator/kernels/time_source.h"

namespace kvplan::kernels {

/// `window`: most tokens that a sequence sees; 0: all. The source is kInterpolated if there was a pair, else
/// kExtrapolated; nothing if no neighbour was measured.
std::optional<SourcedTime> estimate(const MeasuredGrid& grid, const GridPlace& place, std::int64_t window);

/// Expected relative error of an estimate between two neighbours with these times.
double doubt_of_pair(double a_us, double b_us);

}  // namespace kvplan::kernels
