#include "simulator/attention/tensor_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "simulator/attention/kernels.h"

namespace kvplan::attention {
namespace {

constexpr std::int64_t kMaxBlock = 8;  ///< queries computed together: each key is read once for all of them
constexpr std::size_t kTile = 32;      ///< tokens per inner loop: 8 x 32 sums stay in the first cache
constexpr std::int64_t kBlockBytes = std::int64_t{64} << 20;

class TensorRows final : public LayerRows {
 public:
  explicit TensorRows(LayerTensors tensors) : in_(std::move(tensors)) {
    const std::int64_t row_bytes = 16 * in_.tokens * in_.query_heads;
    block_ = std::clamp<std::int64_t>(kBlockBytes / row_bytes, 1, kMaxBlock);
    padded_ = (static_cast<std::size_t>(in_.tokens) + kTile - 1) / kTile * kTile;
    for (auto& keys : in_.keys) {
      transposed_.push_back(transpose(keys));
      keys = {};
    }
    const std::size_t rows = static_cast<std::size_t>(block_ * in_.query_heads) * padded_;
    logits_.resize(rows);
    weights_.resize(rows);
  }

  Status seek(std::int64_t t) override {
    KVPLAN_CHECK(t >= 0 && t < in_.tokens, t, in_.tokens);
    if (t < first_ || t >= first_ + block_) {
      first_ = t;
      for (std::int32_t h = 0; h < in_.query_heads; ++h) compute(h);
    }
    t_ = t;
    return Done{};
  }
  [[nodiscard]] RowView row(std::int32_t head) const override {
    const std::size_t at = offset(head, t_ - first_);
    return {.f64 = weights_.data() + at, .f32 = nullptr, .logits = logits_.data() + at};
  }
  [[nodiscard]] ValueView values(std::int32_t head) const override {
    if (in_.values.empty()) return {};
    return {.data = in_.values[kv_head(head)].data(), .size = in_.value_size};
  }
  [[nodiscard]] KeyView keys(std::int32_t head) const override {
    return {.data = transposed_[kv_head(head)].data(), .stride = padded_, .size = in_.key_size};
  }

 private:
  [[nodiscard]] std::size_t kv_head(std::int32_t head) const {
    return static_cast<std::size_t>(head / (in_.query_heads / in_.kv_heads));
  }
  [[nodiscard]] std::size_t offset(std::int32_t head, std::int64_t in_block) const {
    return static_cast<std::size_t>(head * block_ + in_block) * padded_;
  }

  [[nodiscard]] std::vector<float> transpose(const std::vector<float>& keys) const {
    const auto size = static_cast<std::size_t>(in_.key_size);
    std::vector<float> out(size * padded_);
    for (std::size_t t = 0; t < static_cast<std::size_t>(in_.tokens); ++t)
      for (std::size_t c = 0; c < size; ++c) out[c * padded_ + t] = keys[t * size + c];
    return out;
  }

  /// Logits and rows of one head for the block that begins at first_.
  void compute(std::int32_t head) {
    const std::int64_t count = std::min(block_, in_.tokens - first_);
    const auto last = static_cast<std::size_t>(first_ + count);
    for (std::size_t tile = 0; tile < last; tile += kTile) score_tile(head, count, tile);
    for (std::int64_t q = 0; q < count; ++q) {
      const auto n = static_cast<std::size_t>(first_ + q + 1);
      const double* logits = logits_.data() + offset(head, q);
      const std::span<double> row(weights_.data() + offset(head, q), n);
      std::copy_n(logits, n, row.begin());
      const double sum = exp_from_max(row);
      assign_scaled(row, sum, row);
    }
  }

  void score_tile(std::int32_t head, std::int64_t count, std::size_t tile) {
    const auto size = static_cast<std::size_t>(in_.key_size);
    const float* keys = transposed_[kv_head(head)].data() + tile;
    const float* queries =
        in_.queries[static_cast<std::size_t>(head)].data() + static_cast<std::size_t>(first_) * size;
    std::array<std::array<double, kTile>, kMaxBlock> sums{};
    for (std::size_t c = 0; c < size; ++c) {
      std::array<double, kTile> key;
      for (std::size_t i = 0; i < kTile; ++i) key[i] = static_cast<double>(keys[c * padded_ + i]);
      for (std::size_t q = 0; q < static_cast<std::size_t>(count); ++q) {
        const auto x = static_cast<double>(queries[q * size + c]);
        for (std::size_t i = 0; i < kTile; ++i) sums[q][i] += x * key[i];
      }
    }
    for (std::int64_t q = 0; q < count; ++q) {
      double* out = logits_.data() + offset(head, q) + tile;
      for (std::size_t i = 0; i < kTile; ++i) out[i] = sums[static_cast<std::size_t>(q)][i] * in_.scale;
    }
  }

  LayerTensors in_;
  std::int64_t block_;
  std::size_t padded_;                          ///< tokens, rounded up to whole tiles
  std::vector<std::vector<float>> transposed_;  ///< [KV head][c * padded_ + token]
  std::vector<double> logits_;                  ///< [query head][token in block][padded_]
  std::vector<double> weights_;
  std::int64_t first_{-kMaxBlock};
  std::int64_t t_{0};
};

}  // namespace

Result<LayerTensors> Recording::tensors(std::int32_t /*sequence*/, std::int32_t /*layer*/) const {
  return bad_input("expected queries and keys, found attention rows");
}

std::unique_ptr<LayerRows> rows_from_tensors(LayerTensors tensors) {
  return std::make_unique<TensorRows>(std::move(tensors));
}

}  // namespace kvplan::attention
