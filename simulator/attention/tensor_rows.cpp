#include "simulator/attention/tensor_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "simulator/attention/kernels.h"
#include "simulator/base/real.h"

namespace kvplan::attention {
namespace {

constexpr std::int64_t kMaxBlock = kScoredQueries;
constexpr std::size_t kTile = kScoredTokens;
constexpr std::size_t kLine = 16;  ///< floats
constexpr std::int64_t kBlockBytes = std::int64_t{64} << 20;
constexpr double kUnseen = -std::numeric_limits<double>::infinity();

class TensorRows final : public LayerRows {
 public:
  explicit TensorRows(LayerTensors tensors) : in_(std::move(tensors)) {
    const std::int64_t row_bytes = 16 * in_.tokens * in_.query_heads;
    block_ = std::clamp<std::int64_t>(kBlockBytes / row_bytes, 1, kMaxBlock);
    padded_ = (static_cast<std::size_t>(in_.tokens) + kTile - 1) / kTile * kTile;
    // An odd number of cache lines, so that the channels of a token are spread over many sets of the CPU cache.
    stride_ = padded_ + kLine;
    for (auto& keys : in_.keys) {
      transposed_.push_back(transpose(keys));
      keys = {};
    }
  }

  Status seek(std::int64_t t) override {
    KVPLAN_CHECK(t >= 0 && t < in_.tokens, t, in_.tokens);
    if (t < first_ || t >= first_ + block_) {
      const std::size_t rows = static_cast<std::size_t>(block_ * in_.query_heads) * padded_;
      logits_.resize(rows);
      weights_.resize(rows);
      sinks_.resize(static_cast<std::size_t>(block_ * in_.query_heads));
      first_ = t;
      for (std::int32_t h = 0; h < in_.query_heads; h += group()) compute(h);
    }
    t_ = t;
    return Done{};
  }
  [[nodiscard]] RowView row(std::int32_t head) const override {
    const std::size_t at = offset(head, t_ - first_);
    return {.f64 = weights_.data() + at,
            .f32 = nullptr,
            .logits = logits_.data() + at,
            .sink = sinks_[static_cast<std::size_t>(head * block_ + t_ - first_)],
            .sink_logit = in_.sink_logit(head)};
  }
  [[nodiscard]] ValueView values(std::int32_t head) const override {
    if (in_.values.empty()) return {};
    return {.data = in_.values[kv_head(head)].data(), .size = in_.value_size};
  }
  [[nodiscard]] KeyView keys(std::int32_t head) const override {
    if (transposed_.empty()) return {};
    return {.data = transposed_[kv_head(head)].data(), .stride = stride_, .size = in_.key_size};
  }
  [[nodiscard]] const LayerTensors* beside() const override { return &in_; }

 private:
  [[nodiscard]] std::int32_t group() const { return in_.query_heads / in_.kv_heads; }
  [[nodiscard]] std::size_t kv_head(std::int32_t head) const {
    return static_cast<std::size_t>(head / group());
  }
  [[nodiscard]] std::size_t offset(std::int32_t head, std::int64_t in_block) const {
    return static_cast<std::size_t>(head * block_ + in_block) * padded_;
  }

  [[nodiscard]] std::vector<float> transpose(const std::vector<float>& keys) const {
    const auto size = static_cast<std::size_t>(in_.key_size);
    std::vector<float> out(size * stride_);
    for (std::size_t t = 0; t < static_cast<std::size_t>(in_.tokens); ++t)
      for (std::size_t c = 0; c < size; ++c) out[c * stride_ + t] = keys[t * size + c];
    return out;
  }

  /// Logits and rows of the heads that share the keys of `first` for the block that begins at first_.
  void compute(std::int32_t first) {
    const std::int64_t count = std::min(block_, in_.tokens - first_);
    const auto last = static_cast<std::size_t>(first_ + count);
    const auto size = static_cast<std::size_t>(in_.key_size);
    queries_.assign(static_cast<std::size_t>(group()) * size * kScoredQueries, 0.0);
    packed_.resize(size * kTile);
    for (std::int32_t head = first; head < first + group(); ++head) widen_queries(head, count);
    for (std::size_t tile = 0; tile < last; tile += kTile) {
      pack_keys(transposed_[kv_head(first)].data() + tile, stride_, size, packed_);
      for (std::int32_t head = first; head < first + group(); ++head) score_tile(head, count, tile);
    }
    for (std::int32_t head = first; head < first + group(); ++head) attend(head, count);
  }

  /// Queries of a head in the block.
  [[nodiscard]] double* queries_of(std::int32_t head) {
    return queries_.data() +
           static_cast<std::size_t>(head % group()) * static_cast<std::size_t>(in_.key_size) * kScoredQueries;
  }
  void widen_queries(std::int32_t head, std::int64_t count) {
    const auto size = static_cast<std::size_t>(in_.key_size);
    const float* from =
        in_.queries[static_cast<std::size_t>(head)].data() + static_cast<std::size_t>(first_) * size;
    double* to = queries_of(head);
    for (std::size_t q = 0; q < static_cast<std::size_t>(count); ++q)
      for (std::size_t c = 0; c < size; ++c)
        to[c * kScoredQueries + q] = static_cast<double>(from[q * size + c]);
  }

  /// Converts logits to rows.
  void attend(std::int32_t head, std::int64_t count) {
    for (std::int64_t q = 0; q < count; ++q) {
      const auto n = static_cast<std::size_t>(first_ + q + 1);
      const double* logits = logits_.data() + offset(head, q);
      const std::span<double> row(weights_.data() + offset(head, q), n);
      std::copy_n(logits, n, row.begin());
      const SoftmaxSum all = exp_with_sink(row, in_.sink_logit(head));
      assign_scaled(row, all.sum, row);
      sinks_[static_cast<std::size_t>(head * block_ + q)] = all.sink_share / all.sum;
    }
  }

  void score_tile(std::int32_t head, std::int64_t count, std::size_t tile) {
    std::array<double, kScoredQueries * kScoredTokens> sums;
    sum_products(packed_, queries_of(head), static_cast<std::size_t>(in_.key_size),
                 static_cast<std::size_t>(count), sums);
    for (std::int64_t q = 0; q < count; ++q) {
      double* out = logits_.data() + offset(head, q) + tile;
      for (std::size_t i = 0; i < kTile; ++i)
        out[i] = sums[static_cast<std::size_t>(q) * kTile + i] * in_.scale;
      if (in_.plain_logits()) continue;
      const auto seen = std::min<std::int64_t>(static_cast<std::int64_t>(tile + kTile), first_ + q + 1);
      for (auto i = static_cast<std::int64_t>(tile); i < seen; ++i) {
        double& logit = out[i - static_cast<std::int64_t>(tile)];
        logit = in_.logit(head, first_ + q, i, logit);
      }
    }
  }

  LayerTensors in_;
  std::int64_t block_;
  std::size_t padded_;  ///< tokens, rounded up to whole tiles
  std::size_t stride_;
  std::vector<std::vector<float>> transposed_;  ///< [KV head][c * stride_ + token]
  std::vector<double> queries_;                 ///< of the block: [head of the current group][c][query]
  std::vector<double> packed_;                  ///< keys of the tile at work
  std::vector<double> logits_;                  ///< [query head][token in block][padded_]
  std::vector<double> weights_;
  std::vector<double> sinks_;  ///< [query head][token in block]
  std::int64_t first_{-kMaxBlock};
  std::int64_t t_{0};
};

class RowsBesideTensors final : public LayerRows {
 public:
  RowsBesideTensors(std::unique_ptr<LayerRows> rows, LayerTensors tensors)
      : rows_(std::move(rows)), computes_(!tensors.queries.empty()), tensors_(std::move(tensors)) {}

  Status seek(std::int64_t t) override {
    t_ = t;
    return rows_->seek(t);
  }
  [[nodiscard]] RowView row(std::int32_t head) const override { return rows_->row(head); }
  [[nodiscard]] RowView exact_row(std::int32_t head) const override {
    if (!computes_) return rows_->row(head);
    const Status sought = tensors_.seek(t_);
    KVPLAN_CHECK(sought.ok());  // cannot fail for tensors in memory
    return tensors_.row(head);
  }
  [[nodiscard]] ValueView values(std::int32_t head) const override { return tensors_.values(head); }
  [[nodiscard]] KeyView keys(std::int32_t head) const override { return tensors_.keys(head); }
  [[nodiscard]] const LayerTensors* beside() const override { return tensors_.beside(); }

 private:
  std::unique_ptr<LayerRows> rows_;
  bool computes_;
  mutable TensorRows tensors_;  ///< mutable: rows are computed at the first request for a token
  std::int64_t t_{0};
};

}  // namespace

double LayerTensors::logit(std::int32_t query_head, std::int64_t t, std::int64_t i, double product) const {
  if (i < first_seen(t)) return kUnseen;
  double out = product;
  if (soft_cap > 0) out = soft_cap * hyperbolic_tangent(out / soft_cap);
  if (!bias_slopes.empty())
    out += bias_slopes[static_cast<std::size_t>(query_head)] * static_cast<double>(position(i) - position(t));
  return out;
}

SoftmaxSum exp_with_sink(std::span<double> logits, double sink) {
  if (sink == kUnseen) {
    if (!logits.empty() && *std::max_element(logits.begin(), logits.end()) > kUnseen)
      return {.sum = exp_from_max(logits), .sink_share = 0};
    std::fill(logits.begin(), logits.end(), 0.0);
    return {};
  }
  if (logits.empty()) return {.sum = 1, .sink_share = 1};
  const double most = std::max(sink, *std::max_element(logits.begin(), logits.end()));
  for (double& logit : logits) logit = fixed_exp(logit - most);
  const double share = fixed_exp(sink - most);
  return {.sum = sum_in_lanes(logits) + share, .sink_share = share};
}

std::unique_ptr<LayerRows> rows_from_tensors(LayerTensors tensors) {
  KVPLAN_CHECK(!tensors.queries.empty());
  return std::make_unique<TensorRows>(std::move(tensors));
}

std::unique_ptr<LayerRows> rows_beside_tensors(std::unique_ptr<LayerRows> rows, LayerTensors tensors) {
  return std::make_unique<RowsBesideTensors>(std::move(rows), std::move(tensors));
}

}  // namespace kvplan::attention
