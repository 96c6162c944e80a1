// The figures of one layer in one sequence: what a thread works on at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/survey/figures.h"

namespace kvplan::survey {

struct LayerFigures {
  std::int64_t tokens{0};
  std::array<std::vector<std::optional<double>>, kFigures> figures;  ///< [figure][query head, or KV head]
  /// [query head][query head]: heavy tokens in common over heavy tokens; empty where no row is late.
  std::vector<std::vector<double>> head_overlap;
  std::vector<std::int32_t> heavy;  ///< of the layer: places among tokens 1 .. T - 17; ascending
};

struct Place {
  std::int32_t sequence{0};
  std::int32_t layer{0};
};

/// One pass over the rows, and the tensors of the layer and of the next one, where they were recorded. `pause` is asked
/// now and then; its error ends the work. Memory: those tensors, and some numbers per token and head. REQUIRES: at
/// least a token of the layer was recorded.
Result<LayerFigures> layer_figures(const attention::Recording& recording, const Place& at,
                                   const std::function<Status()>& pause);

}  // namespace kvplan::survey
