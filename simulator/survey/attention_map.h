// The attention of one head of one sequence as a square of cells, for drawing.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/survey/layer_figures.h"

namespace kvplan::survey {

/// Most cells along a side.
inline constexpr std::int64_t kMostCells = 128;

struct AttentionMap {
  Place at;
  std::int32_t head{0};  ///< query head, by index among the recorded ones
  std::int64_t tokens{0};
  std::int64_t tokens_per_cell{1};  ///< ceil(tokens / kMostCells)
  /// [cell of queries][cell of tokens, up to the diagonal]: mean of w(t, i), i <= t, over the rows and tokens of the
  /// cell.
  std::vector<std::vector<double>> cells;
};

/// Reads the layer's rows once. Errors: a missing sequence, layer or head, a layer without rows, rows that cannot be
/// read.
Result<AttentionMap> attention_map(const attention::Recording& recording, const Place& at, std::int32_t head,
                                   const std::function<Status()>& pause);

}  // namespace kvplan::survey
