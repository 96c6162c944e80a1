// The figures of one layer in one sequence. This is the unit of work of a thread.
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
  /// [curve][query head, or KV head][point]; empty if there is none. Points of kTopMass are those of `tokens`.
  std::array<std::vector<std::vector<double>>, kCurves> curves;
  /// [query head][query head]: heavy tokens in common / heavy tokens; empty without late rows.
  std::vector<std::vector<double>> head_overlap;
  /// Heavy tokens of the layer: indices among tokens 1 .. T - 17; ascending
  std::vector<std::int32_t> heavy;
};

struct Place {
  std::int32_t sequence{0};
  std::int32_t layer{0};
};

struct LayerRequest {
  Place at;
  std::int64_t rank_tokens{kRankTokens};  ///< limit of tokens for ranks of attention maps
};

/// Makes one pass over the rows, and over the tensors of the layer and of the next layer if they were recorded; more
/// passes for ranks of attention maps. `pause` is called now and then; its error ends the work. Memory: these tensors,
/// some numbers per token and head, and for ranks 128 MiB or the square of the number of tokens for one head, whichever
/// is more. REQUIRES: at least one token of the layer was recorded.
Result<LayerFigures> layer_figures(const attention::Recording& recording, const LayerRequest& request,
                                   const std::function<Status()>& pause);

}  // namespace kvplan::survey
