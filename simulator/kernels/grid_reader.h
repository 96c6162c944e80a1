// Times from a grid for batches, head counts and cached lengths that are not on its axes.
//
//   group     (query heads per KV head) between two groups of more than one: the straight line. Beyond the largest:
//             the line through it and the nearest group of at most half its size (else the first; closer neighbours
//             would amplify noise), constant if it falls. A group of one has its own kernels, see grid_estimate.h
//   KV heads  by equal work: h heads of b sequences are looked up as h' heads of b x h / h' sequences, on the
//             straight line between the two nearest h' of the axis; beyond the axis at the nearest h'
//   batch     between two batches of the axis, the mean of two straight lines: one with the same cached tokens in
//             each sequence, one with the same tokens in all sequences together (half as many with twice the batch,
//             ...), which separates data that fit a cache of the device from data that do not; weights as in
//             grid_estimate.h. Beyond the largest batch as for groups. Below the smallest (equal work of few heads may
//             be less than one sequence): the smallest, with the same tokens in all sequences together
//   tokens    a curve with a knot at every length of the axis. Beyond the axis, at its doubles: 2^k times the last
//             length takes the time of the last length with 2^k times the batch (equal tokens; no less than the knot
//             before), up to the largest batch; then the line through the last two knots. If a window hides longer
//             sequences, the last knot's time
//
// Below the first length l0 there is one tile of tokens or a part of it: fewer bytes, but as many tiles. With T(b) =
// the time of b sequences of l0 tokens,
//
//     t(b, l) = T(b l / l0) + (1 - l / l0) x max(0, T(b) - s x l0 - T(least batch)),     at most T(b), never falling
//
// The first term is the same tokens in sequences of l0, the second the cost of tiles beside their bytes. s is the
// rise per token: the least of the rise to the second length at b, twice that at b / 2, and us_per_token x b x heads.
// Knots are at the batches of the axis: t is computed where b l / l0 is one of them, and on straight lines between.
#pragma once

#include <optional>

#include "simulator/kernels/filled_grid.h"
#include "simulator/kernels/time_curve.h"

namespace kvplan::kernels {

struct GridHeads {
  std::int64_t kv_heads{1}, group{1};
};

/// Keeps a reference to the grid.
class GridReader {
 public:
  explicit GridReader(const FilledGrid& grid) : grid_(grid) {}

  /// A curve over the cached tokens of a sequence. Nothing if no neighbour was measured. REQUIRES: batch > 0, heads
  /// >= 1.
  [[nodiscard]] std::optional<TimeCurve> curve(double batch, const GridHeads& heads) const;

 private:
  using Time = std::optional<SourcedTime>;
  [[nodiscard]] Time at(double batch, std::size_t length, const GridHeads& heads) const;
  [[nodiscard]] Time at_group(double batch, std::size_t length, std::int64_t kv_heads,
                              std::size_t group) const;
  [[nodiscard]] Time at_tokens(std::size_t batch, double length, std::size_t kv_heads,
                               std::size_t group) const;
  [[nodiscard]] Time at_heads(double batch, std::size_t length, std::size_t kv_heads,
                              std::size_t group) const;
  void add_below(double batch, const GridHeads& heads, TimeCurve& curve) const;
  void add_beyond(double batch, const GridHeads& heads, TimeCurve& curve) const;

  const FilledGrid& grid_;
};

}  // namespace kvplan::kernels
