// A survey of a whole recording: the figures of figures.h of every layer and head, over several sequences, and what
// layers and heads have in common.
//
// Layers of sequences are worked on beside each other by several threads; what they found is added up in the order of
// sequences and layers, so any number of threads gives the same bits. Memory: for each thread what one layer needs
// (layer_figures.h), and the heavy tokens of the layers of a sequence.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/survey/figures.h"

namespace kvplan::survey {

struct Request {
  const attention::Recording* recording{nullptr};
  std::vector<std::int32_t> sequences{};  ///< ascending; empty = all
  int threads{1};
  /// Ranks of attention maps are computed of sequences of at most so many tokens; 0 = of none.
  std::int64_t rank_tokens{kRankTokens};
};

/// The mean over the sequences that have a value, each counting alike.
using Pooled = std::optional<double>;
using PooledSquare = std::vector<std::vector<Pooled>>;  ///< symmetric

struct LayerSurvey {
  std::int32_t layer{0};      ///< its number in the model
  std::int32_t sequences{0};  ///< with at least a token of the layer
  std::array<std::vector<Pooled>, kFigures>
      figures;  ///< [figure][query head, or KV head]; empty: not recorded
  /// [curve][query head, or KV head][point of Survey::points]; no heads: not recorded; no points: no sequence has it
  std::array<std::vector<std::vector<Pooled>>, kCurves> curves;
  PooledSquare head_overlap;  ///< [query head][query head] heavy tokens in common; empty: not recorded

  /// Over the heads that have a value, each alike.
  [[nodiscard]] Pooled mean(Figure figure) const;
  /// The same at each of so many points.
  [[nodiscard]] std::vector<Pooled> mean(Curve curve, std::size_t points) const;
};

struct Survey {
  std::vector<std::int32_t> sequences;
  std::int64_t tokens{0};       ///< of these sequences
  std::int64_t rank_tokens{0};  ///< as it was asked for
  std::vector<LayerSurvey> layers;
  std::array<std::vector<std::int64_t>, kCurves> points;  ///< of each curve, ascending
  /// [place in layers][place in layers]: heavy tokens of a layer that are heavy in the other, over their number.
  PooledSquare layer_overlap;
  Pooled overlap_by_chance;        ///< of sets as large: (heavy tokens) / (T - 17)
  std::vector<std::string> notes;  ///< whole sentences: what the recording does not have
};

/// Asked now and then, by any of the threads; an error ends the survey.
using Pause = std::function<Status()>;

/// Errors: a sequence that is not there, no recorded layer, what cannot be read.
Result<Survey> run(const Request& request, const Pause& pause);

}  // namespace kvplan::survey
