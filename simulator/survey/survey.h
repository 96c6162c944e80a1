// A survey of a whole recording: the figures of figures.h for every layer and head, over several sequences, and how
// much layers and heads have in common.
//
// Several threads work on layers of sequences; their results are added in the order of sequences and layers, so any
// number of threads gives the same bits. Memory: for each thread the needs of one layer (layer_figures.h), and the
// heavy tokens of the layers of a sequence.
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
  /// Ranks of attention maps are computed for sequences of at most this many tokens; 0 = for none.
  std::int64_t rank_tokens{kRankTokens};
};

/// The mean over the sequences that have a value, each with equal weight.
using Pooled = std::optional<double>;
using PooledSquare = std::vector<std::vector<Pooled>>;  ///< symmetric

struct LayerSurvey {
  std::int32_t layer{0};      ///< its number in the model
  std::int32_t sequences{0};  ///< number of sequences with at least a token of the layer
  std::array<std::vector<Pooled>, kFigures>
      figures;  ///< [figure][query head, or KV head]; empty: not recorded
  /// [curve][query head, or KV head][point of Survey::points]; no heads: not recorded; no points: no sequence has it
  std::array<std::vector<std::vector<Pooled>>, kCurves> curves;
  PooledSquare head_overlap;  ///< [query head][query head] heavy tokens in common; empty: not recorded

  /// Mean over the heads that have a value, each with equal weight.
  [[nodiscard]] Pooled mean(Figure figure) const;
  /// The mean at each of `points` points.
  [[nodiscard]] std::vector<Pooled> mean(Curve curve, std::size_t points) const;
};

struct Survey {
  std::vector<std::int32_t> sequences;
  std::int64_t tokens{0};       ///< of these sequences
  std::int64_t rank_tokens{0};  ///< the limit that was requested
  std::vector<LayerSurvey> layers;
  std::array<std::vector<std::int64_t>, kCurves> points;  ///< of each curve, ascending
  /// [index in layers][index in layers]: heavy tokens of the first layer that are heavy in the second too, as a share
  /// of their number.
  PooledSquare layer_overlap;
  Pooled overlap_by_chance;        ///< expected for random sets of this size: (heavy tokens) / (T - 17)
  std::vector<std::string> notes;  ///< whole sentences: what the recording lacks
};

/// Called now and then, by any of the threads; an error ends the survey.
using Pause = std::function<Status()>;

/// Errors: a missing sequence, no recorded layer, data that cannot be read.
Result<Survey> run(const Request& request, const Pause& pause);

}  // namespace kvplan::survey
