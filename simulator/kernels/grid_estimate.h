// What a place of a grid would have shown, from the measured places around it, without its own time.
//
// Measured neighbours give evidence, each a time and a doubt (a share of it); the estimate is their mean, weighted by
// 1 / doubt^2. Places where two neighbours on both sides agree are believed more: with `spread` = |a - b| / mean(a, b)
// the doubt of a pair is 1.5 % + 0.3 x spread.
//
//   pairs   of the nearest neighbours on both sides, along a line in the grid:
//           equal work, two ways: KV heads for sequences (half the heads of twice the batch, twice the heads of half of
//           it); query heads of a group for sequences; the geometric mean of the two
//           equal tokens: cached tokens for sequences (half as many of twice the batch, ...); the geometric mean;
//           not where a window hides some of these tokens
//           one axis alone: cached tokens, batch, query heads of a group; on the straight line between the two
//   sides   where KV heads for sequences have a neighbour on one side only, or the group: its time, with twice the
//           doubt, the spread being that to the neighbour behind it (15 % where there is none)
//   beyond  only where no pair says anything: one side of equal tokens, and the straight lines through the last two
//           along cached tokens and along the batch, level where they fall; with twice the doubt, the spread being the
//           way that they go on
//
// Groups of one query head (no sharing) run other kernels in most engines; they are neighbours of nothing else.
// Only + - x / and square roots in a fixed order: the same bits on every machine.
#pragma once

#include <optional>

#include "simulator/kernels/measured_grid.h"
#include "simulator/kernels/time_source.h"

namespace kvplan::kernels {

/// `window`: tokens that a sequence sees at most; 0: all. The source is kInterpolated if a pair was there, else
/// kExtrapolated; nothing where no neighbour says anything.
std::optional<SourcedTime> estimate(const MeasuredGrid& grid, const GridPlace& place, std::int64_t window);

/// How little is known of what lies between two neighbours with these times, as a share.
double doubt_of_pair(double a_us, double b_us);

}  // namespace kvplan::kernels
