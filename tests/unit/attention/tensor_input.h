// Recordings of random queries, keys and values, for policies that decide by them.
#pragma once

#include <memory>
#include <utility>

#include "simulator/attention/recording.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/base/random.h"

namespace kvplan::attention {

/// One sequence, every layer the same tensors.
class TensorRecording final : public Recording {
 public:
  explicit TensorRecording(LayerTensors tensors) : tensors_(std::move(tensors)) {
    info_.query_heads = tensors_.query_heads;
    info_.kv_heads = tensors_.kv_heads;
    info_.group = tensors_.query_heads / tensors_.kv_heads;
    info_.key_size = tensors_.key_size;
    info_.value_size = tensors_.value_size;
    info_.cache_element_bytes = 2;
    info_.form = RecordedForm::kTensors;
    info_.logit_scale = tensors_.scale;
    info_.has_values = !tensors_.values.empty();
    info_.sequences.push_back({.name = "random", .tokens = tensors_.tokens});
    if (tensors_.output_weights.empty()) return;
    LayerInfo layer = info_.layer(0);
    layer.parts.add(Part::kOutputWeights);
    info_.recorded_layers.push_back(std::move(layer));
  }
  [[nodiscard]] const RecordingInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::unique_ptr<LayerRows>> open(std::int32_t /*sequence*/,
                                                        std::int32_t /*layer*/) const override {
    return rows_from_tensors(tensors_);
  }
  [[nodiscard]] const LayerTensors& tensors() const { return tensors_; }
  [[nodiscard]] Result<LayerTensors> tensors(std::int32_t /*sequence*/,
                                             std::int32_t /*layer*/) const override {
    return tensors_;
  }

 private:
  LayerTensors tensors_;
  RecordingInfo info_;
};

/// Elements are from -2 to 2; `coarse`: whole numbers, so that many are equal.
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

/// Output weights of a layer of `hidden` elements.
inline void add_output_weights(Random& random, std::int32_t hidden, LayerTensors& to) {
  to.hidden_size = hidden;
  for (std::int32_t h = 0; h < to.query_heads; ++h) {
    to.output_weights.emplace_back();
    for (std::int32_t i = 0; i < to.value_size * hidden; ++i)
      to.output_weights.back().push_back(static_cast<float>(2 * random.unit() - 1));
  }
}

}  // namespace kvplan::attention
