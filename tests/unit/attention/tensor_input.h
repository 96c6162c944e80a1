// Recordings of random queries, keys and values, for policies that score by them.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/base/random.h"

namespace kvplan::attention {

/// One sequence with one layer, or with several layers of the same sizes.
class RecordedTensors final : public Recording {
 public:
  explicit RecordedTensors(LayerTensors tensors)
      : RecordedTensors(std::vector<LayerTensors>{std::move(tensors)}) {}
  explicit RecordedTensors(std::vector<LayerTensors> layers) : layers_(std::move(layers)) {
    const LayerTensors& first = layers_[0];
    info_.layers = static_cast<std::int32_t>(layers_.size());
    info_.query_heads = first.query_heads;
    info_.kv_heads = first.kv_heads;
    info_.group = first.query_heads / first.kv_heads;
    info_.key_size = first.key_size;
    info_.value_size = first.value_size;
    info_.cache_element_bytes = 2;
    info_.form = RecordedForm::kTensors;
    info_.logit_scale = first.scale;
    info_.has_values = !first.values.empty();
    info_.sequences.push_back({.name = "random", .tokens = first.tokens});
    if (first.output_weights.empty()) return;
    std::vector<LayerInfo> with_weights;
    for (std::int32_t l = 0; l < info_.layers; ++l) {
      with_weights.push_back(info_.layer(l));
      with_weights.back().parts.add(Part::kOutputWeights);
    }
    info_.recorded_layers = std::move(with_weights);
  }
  [[nodiscard]] const RecordingInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::unique_ptr<LayerRows>> open(std::int32_t /*sequence*/,
                                                        std::int32_t layer) const override {
    return rows_from_tensors(layers_[static_cast<std::size_t>(layer)]);
  }
  /// The tensors of the first layer.
  [[nodiscard]] const LayerTensors& tensors() const { return layers_[0]; }
  [[nodiscard]] Result<LayerTensors> tensors(std::int32_t /*sequence*/, std::int32_t layer) const override {
    return layers_[static_cast<std::size_t>(layer)];
  }

 private:
  std::vector<LayerTensors> layers_;
  RecordingInfo info_;
};

/// Elements from -2 to 2; `coarse`: whole numbers, so that many are equal.
inline LayerTensors random_tensors(Random& random, std::int32_t kv_heads, std::int32_t group,
                                   std::int64_t tokens, bool coarse) {
  LayerTensors out{.tokens = tokens,
                   .query_heads = kv_heads * group,
                   .kv_heads = kv_heads,
                   .key_size = 1 + static_cast<std::int32_t>(random.below(5)),
                   .value_size = 1 + static_cast<std::int32_t>(random.below(4)),
                   .scale = 0.5,
                   .queries = {},
                   .keys = {},
                   .values = {}};
  const auto fill = [&](std::int32_t heads, std::int32_t size, std::vector<std::vector<float>>& to) {
    for (std::int32_t h = 0; h < heads; ++h) {
      to.emplace_back();
      for (std::int64_t i = 0; i < tokens * size; ++i)
        to.back().push_back(coarse ? static_cast<float>(random.between(-2, 2))
                                   : static_cast<float>(4 * random.unit() - 2));
    }
  };
  fill(out.query_heads, out.key_size, out.queries);
  fill(out.kv_heads, out.key_size, out.keys);
  fill(out.kv_heads, out.value_size, out.values);
  return out;
}

/// Multiplies every element by `factor`.
inline void scale_tensors(float factor, LayerTensors& to) {
  for (auto* heads : {&to.queries, &to.keys, &to.values, &to.output_weights})
    for (auto& head : *heads)
      for (float& element : head) element *= factor;
}

/// Makes each token, in all heads, a copy of one of the first `distinct` tokens, so that equal scores are equal to
/// the last bit.
inline void repeat_tokens(Random& random, std::int64_t distinct, LayerTensors& to) {
  for (std::int64_t t = distinct; t < to.tokens; ++t) {
    const std::int64_t of = random.between(0, distinct - 1);
    const auto copy = [&](std::int32_t size, std::vector<std::vector<float>>& heads) {
      for (auto& head : heads) std::copy_n(head.begin() + of * size, size, head.begin() + t * size);
    };
    copy(to.key_size, to.queries);
    copy(to.key_size, to.keys);
    copy(to.value_size, to.values);
  }
}

/// Adds the output weights of a layer with `hidden` elements.
inline void add_output_weights(Random& random, std::int32_t hidden, LayerTensors& to) {
  to.hidden_size = hidden;
  for (std::int32_t h = 0; h < to.query_heads; ++h) {
    to.output_weights.emplace_back();
    for (std::int32_t i = 0; i < to.value_size * hidden; ++i)
      to.output_weights.back().push_back(static_cast<float>(2 * random.unit() - 1));
  }
}

}  // namespace kvplan::attention
