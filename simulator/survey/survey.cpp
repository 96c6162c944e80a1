#include "simulator/survey/survey.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "simulator/attention/overlap.h"
#include "simulator/base/ordered_work.h"
#include "simulator/survey/heavy.h"
#include "simulator/survey/layer_figures.h"

namespace kvplan::survey {
namespace {

using attention::LayerInfo;
using attention::Part;

class Mean {
 public:
  void add(std::optional<double> number) {
    if (!number) return;
    sum_ += *number;
    ++count_;
  }
  [[nodiscard]] Pooled value() const {
    if (count_ == 0) return std::nullopt;
    return sum_ / static_cast<double>(count_);
  }

 private:
  double sum_{0};
  std::int64_t count_{0};
};
using MeanSquare = std::vector<std::vector<Mean>>;

MeanSquare mean_square(std::size_t size) {
  return MeanSquare(size, std::vector<Mean>(size));
}

std::vector<Pooled> values_of(const std::vector<Mean>& means) {
  std::vector<Pooled> out;
  for (const Mean& mean : means) out.push_back(mean.value());
  return out;
}

PooledSquare values_of(const MeanSquare& means) {
  PooledSquare out;
  for (const auto& row : means) out.push_back(values_of(row));
  return out;
}

struct LayerSums {
  std::int32_t sequences{0};
  std::array<std::vector<Mean>, kFigures> figures;
  std::array<MeanSquare, kCurves> curves;  ///< [curve][head][point]
  MeanSquare head_overlap;
};

class Run {
 public:
  Run(const Request& request, const Pause& pause)
      : request_(request), pause_(pause), info_(request.recording->info()) {}

  Result<Survey> all() {
    KVPLAN_TRY_DO(choose_sequences());
    out_.rank_tokens = request_.rank_tokens;
    out_.layers.resize(layers_.size());
    sums_.resize(layers_.size());
    layer_overlap_ = mean_square(layers_.size());
    set_points();
    for (std::size_t l = 0; l < layers_.size(); ++l) prepare(l);
    for (const std::int32_t sequence : out_.sequences)
      for (std::size_t l = 0; l < layers_.size(); ++l)
        if (request_.recording->tokens(sequence, layers_[l]) > 0) pieces_.push_back({sequence, l});
    if (pieces_.empty())
      return bad_input("no layer of the selected sequences was recorded").at_field("--sequences");
    KVPLAN_TRY_DO(work_in_order<LayerFigures>(
        request_.threads, pieces_.size(),
        [this](std::size_t i) {
          return layer_figures(
              *request_.recording,
              {.at = {pieces_[i].sequence, layers_[pieces_[i].layer]}, .rank_tokens = request_.rank_tokens},
              pause_);
        },
        [this](std::size_t i, LayerFigures&& found) { add(pieces_[i], std::move(found)); }));
    close_sequence();
    return finish();
  }

 private:
  struct Piece {
    std::int32_t sequence;
    std::size_t layer;  ///< index in layers_
  };

  Status choose_sequences() {
    const auto count = static_cast<std::int32_t>(info_.sequences.size());
    out_.sequences = request_.sequences;
    if (out_.sequences.empty()) {
      out_.sequences.resize(static_cast<std::size_t>(count));
      std::iota(out_.sequences.begin(), out_.sequences.end(), 0);
    }
    for (const std::int32_t sequence : out_.sequences) {
      if (sequence < 0 || sequence >= count)
        return bad_input("expected 0 to " + std::to_string(count - 1) + ", found " + std::to_string(sequence))
            .at_field("--sequences");
      out_.tokens += info_.sequences[static_cast<std::size_t>(sequence)].tokens;
    }
    return Done{};
  }

  void set_points() {
    std::int64_t longest = 1;
    for (const std::int32_t sequence : out_.sequences)
      for (const std::int32_t number : layers_)
        longest = std::max(longest, request_.recording->tokens(sequence, number));
    for (const CurveKind& kind : curve_kinds())
      out_.points[index(kind.curve)] =
          kind.curve == Curve::kTopMass ? top_mass_points(longest) : angle_points();
  }

  void prepare(std::size_t l) {
    const LayerInfo layer = info_.layer(layers_[l]);
    out_.layers[l].layer = layers_[l];
    const bool tensors = layer.has_tensors();
    for (const FigureKind& kind : figure_kinds()) {
      if (kind.of_kv_head ? !tensors : !layer.has_rows()) continue;
      sums_[l].figures[index(kind.figure)].resize(
          static_cast<std::size_t>(kind.of_kv_head ? layer.kv_heads : layer.query_heads));
    }
    for (const CurveKind& kind : curve_kinds()) {
      if (kind.of_kv_head ? !tensors : !layer.has_rows()) continue;
      sums_[l].curves[index(kind.curve)].assign(
          static_cast<std::size_t>(kind.of_kv_head ? layer.kv_heads : layer.query_heads),
          std::vector<Mean>(out_.points[index(kind.curve)].size()));
    }
    if (layer.has_rows()) sums_[l].head_overlap = mean_square(static_cast<std::size_t>(layer.query_heads));
  }

  /// Called in the order of pieces.
  void add(const Piece& piece, LayerFigures&& found) {
    if (piece.sequence != open_sequence_) close_sequence();
    open_sequence_ = piece.sequence;
    LayerSums& to = sums_[piece.layer];
    ++to.sequences;
    for (std::size_t f = 0; f < kFigures; ++f)
      for (std::size_t h = 0; h < found.figures[f].size(); ++h) to.figures[f][h].add(found.figures[f][h]);
    // The curve of a short sequence ends at its number of tokens; its last value counts for all points after that.
    for (std::size_t c = 0; c < kCurves; ++c)
      for (std::size_t h = 0; h < found.curves[c].size(); ++h)
        if (const std::vector<double>& curve = found.curves[c][h]; !curve.empty())
          for (std::size_t p = 0; p < to.curves[c][h].size(); ++p)
            to.curves[c][h][p].add(curve[std::min(p, curve.size() - 1)]);
    for (std::size_t a = 0; a < found.head_overlap.size(); ++a)
      for (std::size_t b = 0; b < found.head_overlap.size(); ++b)
        to.head_overlap[a][b].add(found.head_overlap[a][b]);
    if (!found.heavy.empty()) open_.push_back({piece.layer, found.tokens, std::move(found.heavy)});
  }

  /// Called when all layers of a sequence have been added.
  void close_sequence() {
    for (const Heavy& a : open_) {
      for (const Heavy& b : open_)
        if (a.tokens == b.tokens)  // layers that were cut off earlier have fewer tokens
          layer_overlap_[a.layer][b.layer].add(static_cast<double>(attention::in_common(a.places, b.places)) /
                                               static_cast<double>(a.places.size()));
      by_chance_.add(static_cast<double>(a.places.size()) / static_cast<double>(far_tokens(a.tokens)));
    }
    open_.clear();
  }

  Survey finish() {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      out_.layers[l].sequences = sums_[l].sequences;
      for (std::size_t f = 0; f < kFigures; ++f) out_.layers[l].figures[f] = values_of(sums_[l].figures[f]);
      for (std::size_t c = 0; c < kCurves; ++c) out_.layers[l].curves[c] = values_of(sums_[l].curves[c]);
      out_.layers[l].head_overlap = values_of(sums_[l].head_overlap);
    }
    out_.layer_overlap = values_of(layer_overlap_);
    out_.overlap_by_chance = by_chance_.value();
    say_what_is_missing();
    return std::move(out_);
  }

  /// "layers 0 to 3": the layers for which `lack` is true.
  template <class Lack>
  [[nodiscard]] std::string lacking(const Lack& lack) const {
    std::vector<std::int32_t> numbers;
    for (const std::int32_t number : layers_)
      if (lack(info_.layer(number))) numbers.push_back(number);
    if (numbers.empty()) return {};
    return (numbers.size() == 1 ? "layer " : "layers ") + attention::ranges_text(numbers);
  }

  void say_what_is_missing() {
    const auto note = [this](const std::string& layers, const std::string& sentence) {
      if (!layers.empty()) out_.notes.push_back("Of " + layers + " " + sentence);
    };
    note(lacking([](const LayerInfo& layer) { return !layer.has_rows(); }),
         "there are no attention rows, recorded or computed: attention figures are missing.");
    note(lacking([](const LayerInfo& layer) { return !layer.has_tensors(); }),
         "there are no keys and no values: ranks, cosines and key norms are missing.");
    note(lacking([](const LayerInfo& layer) {
           return !layer.parts.has(Part::kKeys) && layer.parts.has(Part::kValues);
         }),
         "there are no keys: their ranks, cosines and norms are missing.");
    note(lacking([](const LayerInfo& layer) {
           return layer.parts.has(Part::kKeys) && !layer.parts.has(Part::kValues);
         }),
         "there are no values: their ranks and cosines are missing.");
    note(lacking([](const LayerInfo& layer) {
           return !layer.parts.has(Part::kRows) && !layer.parts.has(Part::kQueries) &&
                  layer.parts.has(Part::kTopRows);
         }),
         "only the largest weights of each row were stored; the remaining mass is spread evenly over the "
         "other tokens.");
    if (layers_.size() < static_cast<std::size_t>(info_.layers))
      out_.notes.push_back("The recording has layers " + attention::ranges_text(layers_) + " of " +
                           std::to_string(info_.layers) + ".");
    say_what_has_no_ranks();
    std::int64_t short_ones = 0;
    for (const std::int32_t sequence : out_.sequences)
      short_ones += info_.sequences[static_cast<std::size_t>(sequence)].tokens <= kLateRow ? 1 : 0;
    if (short_ones > 0)
      out_.notes.push_back(
          std::to_string(short_ones) + " of " + std::to_string(out_.sequences.size()) +
          " sequences have at most 64 tokens: they do not enter the figures of rows t >= 64.");
    const auto missing = static_cast<std::int64_t>(out_.sequences.size() * layers_.size() - pieces_.size());
    if (missing > 0)
      out_.notes.push_back(std::to_string(missing) +
                           " layers of sequences were not recorded: they are left out.");
  }

  void say_what_has_no_ranks() {
    const auto pieces =
        static_cast<std::int64_t>(std::count_if(pieces_.begin(), pieces_.end(), [this](const Piece& piece) {
          const std::int32_t number = layers_[piece.layer];
          return info_.layer(number).has_rows() &&
                 request_.recording->tokens(piece.sequence, number) > request_.rank_tokens;
        }));
    if (pieces == 0) return;
    out_.notes.push_back("Ranks of attention are computed for sequences with at most " +
                         std::to_string(request_.rank_tokens) + " tokens: " + std::to_string(pieces) +
                         " layers of longer sequences are left out (--rank-tokens).");
  }

  struct Heavy {
    std::size_t layer;
    std::int64_t tokens;
    std::vector<std::int32_t> places;
  };

  const Request& request_;
  const Pause& pause_;
  const attention::RecordingInfo& info_;
  std::vector<std::int32_t> layers_{info_.layer_numbers()};
  std::vector<Piece> pieces_;
  std::vector<LayerSums> sums_;  ///< [place in layers_]
  MeanSquare layer_overlap_;
  Mean by_chance_;
  std::int32_t open_sequence_{-1};
  std::vector<Heavy> open_;  ///< of the sequence that is being added
  Survey out_;
};

}  // namespace

Pooled LayerSurvey::mean(Figure figure) const {
  Mean out;
  for (const Pooled& value : figures[index(figure)]) out.add(value);
  return out.value();
}

std::vector<Pooled> LayerSurvey::mean(Curve curve, std::size_t points) const {
  std::vector<Mean> out(points);
  for (const auto& head : curves[index(curve)])
    for (std::size_t p = 0; p < points; ++p) out[p].add(head[p]);
  return values_of(out);
}

Result<Survey> run(const Request& request, const Pause& pause) {
  KVPLAN_CHECK(request.recording != nullptr);
  return Run(request, pause).all();
}

}  // namespace kvplan::survey
