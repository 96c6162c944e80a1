#include "simulator/formats/analysis.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "simulator/attention/tensor_rows.h"
#include "simulator/base/real.h"
#include "simulator/formats/linear.h"
#include "simulator/formats/loops.h"

namespace kvplan::formats {
namespace {

constexpr std::int64_t kSinks = 4;

/// The ranks that follow from singular values and their squares, largest first.
Spectrum ranks_of(const std::vector<double>& values, const std::vector<double>& squares, double energy) {
  double all = 0;
  double all_values = 0;
  for (const double square : squares) all += square;
  for (const double value : values) all_values += value;
  Spectrum out;
  if (all == 0) return out;
  out.stable_rank = all / squares.front();
  double sum = 0;
  double values_sum = 0;
  for (std::size_t r = 0; r < squares.size(); ++r) {
    const bool last = r + 1 == squares.size();
    sum += squares[r];
    values_sum += values[r];
    const double share = sum / all;
    out.margin = std::min(out.margin, std::fabs(share - energy));
    if (out.effective_rank == 0 && (share >= energy || last))
      out.effective_rank = static_cast<std::int64_t>(r) + 1;
    if (out.value_rank == 0 && (values_sum / all_values >= energy || last))
      out.value_rank = static_cast<std::int64_t>(r) + 1;
  }
  return out;
}

TensorSpectrum spectrum_of(const std::vector<double>& values, const std::vector<double>& squares,
                           std::int64_t columns, double energy) {
  TensorSpectrum out;
  out.spectrum = ranks_of(values, squares, energy);
  out.singular_values.assign(
      values.begin(), values.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(4, values.size())));
  double all = 0;
  for (const double square : squares) all += square;
  for (const std::int64_t rank : {columns / 8, columns / 4, columns / 2}) {
    double beyond = 0;
    for (auto i = static_cast<std::size_t>(rank); i < squares.size(); ++i) beyond += squares[i];
    out.tails.push_back({.rank = rank, .relative = all > 0 ? std::sqrt(beyond / all) : 0.0});
  }
  return out;
}

/// Sums over the rows of one query head.
class HeadSums {
 public:
  HeadSums(std::int64_t tokens, double threshold) : tokens_(tokens), threshold_(threshold) {
    if (tokens <= kMostRankTokens) spectrum_.emplace(tokens);
  }

  void add(std::int64_t t, const attention::RowView& view) {
    const auto n = static_cast<std::size_t>(t) + 1;
    row_.resize(n);
    for (std::size_t i = 0; i < n; ++i)
      row_[i] = view.f64 != nullptr ? view.f64[i] : static_cast<double>(view.f32[i]);
    double entropy = 0;
    double sinks = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double weight = row_[i];
      if (weight > threshold_) ++above_;
      if (threshold_ > 0) margin_ = std::min(margin_, std::fabs(weight - threshold_) / threshold_);
      if (weight > 0) entropy -= weight * natural_log(weight);
      if (i < kSinks) sinks += weight;
    }
    entropy_ += entropy;
    if (t >= 1) relative_ += entropy / natural_log(static_cast<double>(n));
    if (t >= kSinks) sinks_ += sinks;
    if (spectrum_) spectrum_->add(row_);
  }

  AttentionStructure finish(double energy, double& margin) {
    AttentionStructure out;
    const auto n = static_cast<double>(tokens_);
    const auto above = static_cast<double>(above_);
    out.sparsity_full = 1 - above / (n * n);
    out.sparsity_causal = 1 - above / (n * (n + 1) / 2);
    out.mean_entropy = entropy_ / n;
    if (tokens_ > 1) out.mean_relative_entropy = relative_ / (n - 1);
    if (tokens_ > kSinks) out.sink_mass = sinks_ / (n - static_cast<double>(kSinks));
    margin = std::min(margin, margin_);
    if (!spectrum_) return out;
    out.spectrum = spectrum_->finish(energy).spectrum;
    margin = std::min(margin, out.spectrum->margin);
    return out;
  }

 private:
  std::int64_t tokens_;
  double threshold_;
  std::optional<RowsSpectrum> spectrum_;  ///< empty if there are too many tokens
  std::vector<double> row_;
  std::int64_t above_{0};
  double entropy_{0};
  double relative_{0};
  double sinks_{0};
  double margin_{1};
};

Status check_place(const attention::Recording& recording, const AnalysisRequest& request) {
  const attention::RecordingInfo& info = recording.info();
  const auto below = [](std::string_view field, std::int64_t value, std::int64_t limit) -> Status {
    if (value < limit) return Done{};
    return bad_input("expected 0 to " + std::to_string(limit - 1) + ", found " + std::to_string(value))
        .at_field(field);
  };
  KVPLAN_TRY_DO(below("--sequence", request.sequence, static_cast<std::int64_t>(info.sequences.size())));
  KVPLAN_TRY_DO(below("--layer", request.layer, info.layers));
  return attention::check_recorded_layer(recording, request.sequence, request.layer);
}

Status analyse_tensors(const attention::LayerTensors& in, const AnalysisRequest& request,
                       const std::function<Status()>& pause, Analysis& out) {
  for (std::size_t side = 0; side < 2; ++side) {
    const auto& heads = side == 0 ? in.keys : in.values;
    for (const auto& head : heads) {
      KVPLAN_TRY_DO(pause());
      out.tensors[side].push_back(
          tensor_spectrum(head, side == 0 ? in.key_size : in.value_size, request.energy));
      out.min_margin = std::min(out.min_margin, out.tensors[side].back().spectrum.margin);
    }
  }
  if (in.keys.empty() || in.values.empty()) return Done{};
  constexpr std::int64_t kBytes = 4;
  const std::int64_t channels = in.key_size + in.value_size;
  out.monitor = Monitor{.original_bytes = channels * in.kv_heads * in.tokens * kBytes,
                        .estimate_bytes = channels * in.kv_heads * in.key_size * kBytes,
                        .ratio = static_cast<double>(in.key_size) / static_cast<double>(in.tokens)};
  return Done{};
}

}  // namespace

TensorSpectrum tensor_spectrum(const std::vector<float>& tensor, std::int32_t channels, double energy) {
  Matrix rows(tensor.size() / static_cast<std::size_t>(channels), static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < tensor.size(); ++i) rows.data[i] = static_cast<double>(tensor[i]);
  const std::vector<double> values = right_singular(rows).values;
  std::vector<double> squares;
  for (const double value : values) squares.push_back(value * value);
  return spectrum_of(values, squares, channels, energy);
}

void RowsSpectrum::add(std::span<const double> row) {
  for (std::size_t r = 0; r < row.size(); ++r)
    if (row[r] != 0) add_scaled(row[r], row.data(), products_.row(r).data(), r + 1);
}

TensorSpectrum RowsSpectrum::finish(double energy) {
  const auto tokens = static_cast<std::int64_t>(products_.rows);
  std::vector<double> squares = symmetric_eigenvalues(std::move(products_));
  std::vector<double> values;
  for (double& square : squares) {
    square = std::max(square, 0.0);  // rounding leaves some below 0
    values.push_back(std::sqrt(square));
  }
  return spectrum_of(values, squares, tokens, energy);
}

Result<Analysis> analyse(const attention::Recording& recording, const AnalysisRequest& request,
                         const std::function<Status()>& pause) {
  KVPLAN_TRY_DO(check_place(recording, request));
  const attention::LayerInfo layer = recording.info().layer(request.layer);
  Analysis out;
  out.min_margin = 1;
  if (layer.has_tensors()) {
    KVPLAN_TRY(const attention::LayerTensors tensors, recording.tensors(request.sequence, request.layer));
    KVPLAN_TRY_DO(analyse_tensors(tensors, request, pause, out));
  }
  if (!layer.has_rows()) return out;
  const std::int64_t tokens = recording.tokens(request.sequence, request.layer);
  // One head after the other, because the sums of a head are as large as the square of its tokens.
  for (std::int32_t h = 0; h < layer.query_heads; ++h) {
    KVPLAN_TRY(const auto rows, recording.open(request.sequence, request.layer));
    HeadSums sums(tokens, request.threshold);
    for (std::int64_t t = 0; t < tokens; ++t) {
      KVPLAN_TRY_DO(pause());
      KVPLAN_TRY_DO(rows->seek(t));
      sums.add(t, rows->row(h));
    }
    out.attention.push_back(sums.finish(request.energy, out.min_margin));
  }
  return out;
}

}  // namespace kvplan::formats
