#include "simulator/survey/layer_figures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulator/attention/overlap.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/formats/analysis.h"
#include "simulator/survey/heavy.h"
#include "simulator/survey/row_sums.h"

namespace kvplan::survey {
namespace {

using attention::LayerInfo;
using attention::LayerTensors;
using Heads = std::vector<std::vector<float>>;  ///< [KV head][token * size + c]

/// Sets the figure `rank` and the figures after it.
void set_spectrum(const formats::TensorSpectrum& found, Figure rank, Values& out) {
  std::size_t at = index(rank);
  out[at++] = static_cast<double>(found.spectrum.effective_rank);
  out[at++] = static_cast<double>(found.spectrum.value_rank);
  out[at++] = found.spectrum.stable_rank;
  for (const auto& tail : found.tails) out[at++] = tail.relative;
}

/// The step of the angle with cosine product / sqrt(squares). Steps are decided by squares of cosines: for small
/// whole numbers those of 30, 45, 60, 90, ... degrees are exact.
std::size_t angle_step(double product, double squares) {
  // cos^2 of 15, 30, ... degrees; negative where the cosine is.
  constexpr std::array<double, kAngleSteps - 1> kEnds{
      0.93301270189221932,  0.75,  0.5,  0.25,  0.06698729810778068, 0.0,
      -0.06698729810778068, -0.25, -0.5, -0.75, -0.93301270189221932};
  const double signed_square = product * std::fabs(product);
  std::size_t step = 0;
  while (step < kEnds.size() && signed_square <= kEnds[step] * squares) ++step;
  return step;
}

/// Similarity of two layers' keys or values of a KV head, over tokens with nonzero length in both.
struct Likeness {
  double cosines{0};  ///< summed
  std::int64_t count{0};
  std::array<std::int64_t, kAngleSteps> steps{};

  [[nodiscard]] std::vector<double> shares() const {
    std::vector<double> out;
    for (const std::int64_t step : steps)
      out.push_back(static_cast<double>(step) / static_cast<double>(count));
    return out;
  }
};

Likeness likeness_of(const std::vector<float>& a, const std::vector<float>& b, std::size_t size) {
  Likeness out;
  for (std::size_t begin = 0; begin + size <= std::min(a.size(), b.size()); begin += size) {
    double products = 0;
    double squares_a = 0;
    double squares_b = 0;
    for (std::size_t c = begin; c < begin + size; ++c) {
      const auto x = static_cast<double>(a[c]);
      const auto y = static_cast<double>(b[c]);
      products += x * y;
      squares_a += x * x;
      squares_b += y * y;
    }
    if (squares_a == 0 || squares_b == 0) continue;
    out.cosines += products / (std::sqrt(squares_a) * std::sqrt(squares_b));
    ++out.count;
    ++out.steps[angle_step(products, squares_a * squares_b)];
  }
  return out;
}

class LayerWork {
 public:
  LayerWork(const attention::Recording& recording, const LayerRequest& request,
            const std::function<Status()>& pause)
      : recording_(recording),
        request_(request),
        at_(request.at),
        pause_(pause),
        layer_(recording.info().layer(at_.layer)),
        tokens_(recording.tokens(at_.sequence, at_.layer)) {}

  Result<LayerFigures> all() {
    out_.tokens = tokens_;
    if (layer_.has_rows()) KVPLAN_TRY_DO(rows());
    if (layer_.has_tensors()) KVPLAN_TRY_DO(tensors());
    return std::move(out_);
  }

 private:
  Status rows() {
    KVPLAN_TRY(const auto reader, recording_.open(at_.sequence, at_.layer));
    const auto heads = static_cast<std::size_t>(layer_.query_heads);
    std::vector<RowSums> sums(heads, RowSums(tokens_));
    for (std::int64_t t = 0; t < tokens_; ++t) {
      KVPLAN_TRY_DO(pause_());
      KVPLAN_TRY_DO(reader->seek(t));
      for (std::size_t h = 0; h < heads; ++h) sums[h].add(t, reader->row(static_cast<std::int32_t>(h)));
    }
    const std::int64_t count = heavy_tokens(far_tokens(tokens_));
    std::vector<std::vector<std::int32_t>> heavy;
    std::vector<double> of_layer(static_cast<std::size_t>(far_tokens(tokens_)), 0.0);
    for (const RowSums& head : sums) {
      heavy.push_back(greatest_of(head.got(), count));
      for (std::size_t i = 0; i < of_layer.size(); ++i) of_layer[i] += head.got()[i];
    }
    out_.heavy = greatest_of(of_layer, count);
    std::vector<Values> values(heads);
    for (std::size_t h = 0; h < heads; ++h) sums[h].finish(heavy[h], values[h]);
    if (count > 0) overlaps(heavy, count, values);
    for (std::size_t h = 0; h < heads; ++h) {
      got_.push_back(sums[h].got());
      out_.curves[index(Curve::kTopMass)].push_back(sums[h].top_mass());
    }
    if (tokens_ <= request_.rank_tokens) KVPLAN_TRY_DO(ranks(values));
    keep(values, false);
    return Done{};
  }

  /// Works on some heads at a time, since each takes memory for tokens^2 numbers.
  Status ranks(std::vector<Values>& values) {
    constexpr std::int64_t kMostNumbers = std::int64_t{1} << 24;
    const auto at_once =
        static_cast<std::size_t>(std::max<std::int64_t>(1, kMostNumbers / (tokens_ * tokens_)));
    std::vector<double> weights;
    for (std::size_t first = 0; first < values.size(); first += at_once) {
      const std::size_t end = std::min(values.size(), first + at_once);
      KVPLAN_TRY(const auto reader, recording_.open(at_.sequence, at_.layer));
      std::vector<formats::RowsSpectrum> heads(end - first, formats::RowsSpectrum(tokens_));
      for (std::int64_t t = 0; t < tokens_; ++t) {
        KVPLAN_TRY_DO(pause_());
        KVPLAN_TRY_DO(reader->seek(t));
        for (std::size_t h = first; h < end; ++h) {
          copy_row(reader->row(static_cast<std::int32_t>(h)), t, weights);
          heads[h - first].add(weights);
        }
      }
      for (std::size_t h = first; h < end; ++h) {
        KVPLAN_TRY_DO(pause_());
        set_spectrum(heads[h - first].finish(kEnergy), Figure::kMapRank, values[h]);
      }
    }
    return Done{};
  }

  void overlaps(const std::vector<std::vector<std::int32_t>>& heavy, std::int64_t count,
                std::vector<Values>& values) {
    const std::size_t heads = heavy.size();
    out_.head_overlap.assign(heads, std::vector<double>(heads, 1.0));
    for (std::size_t a = 0; a < heads; ++a) {
      double others = 0;
      for (std::size_t b = 0; b < heads; ++b) {
        const double share =
            static_cast<double>(attention::in_common(heavy[a], heavy[b])) / static_cast<double>(count);
        out_.head_overlap[a][b] = share;
        if (a != b) others += share;
      }
      if (heads > 1) values[a][index(Figure::kHeadsOverlap)] = others / static_cast<double>(heads - 1);
    }
  }

  Status tensors() {
    KVPLAN_TRY(const LayerTensors here, recording_.tensors(at_.sequence, at_.layer));
    std::vector<Values> values(std::max(here.keys.size(), here.values.size()));
    const auto ranks_of = [&](const Heads& heads, std::int32_t size, Figure figure) -> Status {
      for (std::size_t h = 0; h < heads.size(); ++h) {
        KVPLAN_TRY_DO(pause_());
        set_spectrum(formats::tensor_spectrum(heads[h], size, kEnergy), figure, values[h]);
      }
      return Done{};
    };
    KVPLAN_TRY_DO(ranks_of(here.keys, here.key_size, Figure::kKeyRank));
    KVPLAN_TRY_DO(ranks_of(here.values, here.value_size, Figure::kValueRank));
    KVPLAN_TRY_DO(against_next(here, values));
    keep(values, true);
    norms(here);
    return Done{};
  }

  Status against_next(const LayerTensors& here, std::vector<Values>& values) {
    const std::int32_t next = at_.layer + 1;
    const auto& info = recording_.info();
    if (next >= info.layers || !info.has_layer(next) || recording_.tokens(at_.sequence, next) == 0)
      return Done{};
    const LayerInfo other = info.layer(next);
    if (!other.has_tensors() || other.kv_heads != layer_.kv_heads ||
        other.recorded_kv_heads != layer_.recorded_kv_heads)
      return Done{};
    KVPLAN_TRY(const LayerTensors there, recording_.tensors(at_.sequence, next));
    const auto compare = [&](const Heads& a, const Heads& b, std::int32_t size, std::int32_t other_size,
                             Figure figure, Curve angles) {
      if (a.empty() || b.empty() || size != other_size) return;
      for (std::size_t h = 0; h < values.size(); ++h) {
        const Likeness found = likeness_of(a[h], b[h], static_cast<std::size_t>(size));
        auto& curve = out_.curves[index(angles)].emplace_back();
        if (found.count == 0) continue;
        values[h][index(figure)] = found.cosines / static_cast<double>(found.count);
        curve = found.shares();
      }
    };
    compare(here.keys, there.keys, here.key_size, there.key_size, Figure::kKeyCosine, Curve::kKeyAngles);
    compare(here.values, there.values, here.value_size, there.value_size, Figure::kValueCosine,
            Curve::kValueAngles);
    return Done{};
  }

  /// Correlates the norm of each token's key with the attention that the token received.
  void norms(const LayerTensors& here) {
    if (here.keys.empty() || got_.empty() || got_.front().empty()) return;
    auto& to = out_.figures[index(Figure::kKeyNormCorrelation)];
    const std::size_t of_stored = got_.size() / here.keys.size();
    const auto size = static_cast<std::size_t>(here.key_size);
    for (std::size_t h = 0; h < got_.size(); ++h) {
      const std::vector<float>& keys = here.keys[h / of_stored];
      std::vector<double> norm(got_[h].size());
      std::vector<double> mean(got_[h].size());
      for (std::size_t i = 0; i < norm.size(); ++i) {
        double squares = 0;
        for (std::size_t c = (i + 1) * size; c < (i + 2) * size; ++c)
          squares += static_cast<double>(keys[c]) * static_cast<double>(keys[c]);
        norm[i] = std::sqrt(squares);
        mean[i] =
            got_[h][i] / static_cast<double>(rows_of_far_token(tokens_, static_cast<std::int64_t>(i) + 1));
      }
      to[h] = rank_correlation(norm, mean);
    }
  }

  /// Stores the values of heads in the columns of their figures.
  void keep(const std::vector<Values>& values, bool of_kv_heads) {
    for (const FigureKind& kind : figure_kinds()) {
      if (kind.of_kv_head != of_kv_heads) continue;
      auto& to = out_.figures[index(kind.figure)];
      for (const Values& head : values) to.push_back(head[index(kind.figure)]);
    }
  }

  const attention::Recording& recording_;
  const LayerRequest& request_;
  const Place& at_;
  const std::function<Status()>& pause_;
  LayerInfo layer_;
  std::int64_t tokens_;
  std::vector<std::vector<double>> got_;  ///< [query head][token - 1]
  LayerFigures out_;
};

}  // namespace

Result<LayerFigures> layer_figures(const attention::Recording& recording, const LayerRequest& request,
                                   const std::function<Status()>& pause) {
  return LayerWork(recording, request, pause).all();
}

}  // namespace kvplan::survey
