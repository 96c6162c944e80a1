// Overlap of the tokens that a query attends with the same number of tokens of the largest weights in its recorded row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/attention/replay.h"
#include "simulator/attention/top_mass.h"

namespace kvplan::attention {

/// Positions that the queries of each set attended at the last step, ascending; empty if a query reads only a part of
/// the kept tokens.
std::vector<std::vector<std::int32_t>> attended_positions(const LayerReplay& replay);

/// Size of the intersection of two ascending lists.
std::int64_t in_common(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

/// The share of `own` that is in `other`, both ascending; 0 if `own` is empty.
double shared_part(std::span<const std::int32_t> own, std::span<const std::int32_t> other);

/// Keeps its buffers from one step to the next.
class Overlap {
 public:
  /// By query head, the overlap at the last step, which must be a decode step; `rows` is at its token. Empty under the
  /// same condition as attended_positions. Valid until the next call.
  std::span<const double> of(const LayerReplay& replay, const LayerRows& rows);

 private:
  TopMass top_;
  std::vector<std::int32_t> greatest_;
  std::vector<double> shares_;
};

}  // namespace kvplan::attention
