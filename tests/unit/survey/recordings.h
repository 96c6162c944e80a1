// Recordings in memory with several sequences and layers, and their form for the naive figures.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/base/random.h"
#include "tests/unit/attention/tensor_input.h"
#include "tests/unit/survey/naive.h"

namespace kvplan::survey {

/// Sequences and layers as tensors; layers without tokens were not recorded.
class ManyTensors final : public attention::Recording {
 public:
  /// layers[sequence][layer], all with the heads and sizes of the first.
  explicit ManyTensors(std::vector<std::vector<attention::LayerTensors>> layers)
      : layers_(std::move(layers)) {
    const attention::LayerTensors& first = layers_.front().front();
    info_.layers = static_cast<std::int32_t>(layers_.front().size());
    info_.query_heads = first.query_heads;
    info_.kv_heads = first.kv_heads;
    info_.group = first.query_heads / first.kv_heads;
    info_.key_size = first.key_size;
    info_.value_size = first.value_size;
    info_.form = attention::RecordedForm::kTensors;
    info_.has_values = !first.values.empty();
    for (const auto& sequence : layers_) {
      std::int64_t longest = 0;
      for (const auto& layer : sequence) longest = std::max(longest, layer.tokens);
      info_.sequences.push_back({.name = "random", .tokens = longest});
    }
    if (!first.queries.empty()) return;
    std::vector<attention::LayerInfo> without_queries;
    for (std::int32_t number = 0; number < info_.layers; ++number) {
      attention::LayerInfo layer = info_.layer(number);
      layer.parts = {};
      if (!first.keys.empty()) layer.parts.add(attention::Part::kKeys);
      if (!first.values.empty()) layer.parts.add(attention::Part::kValues);
      without_queries.push_back(std::move(layer));
    }
    info_.recorded_layers = std::move(without_queries);
  }
  [[nodiscard]] const attention::RecordingInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::unique_ptr<attention::LayerRows>> open(std::int32_t sequence,
                                                                   std::int32_t layer) const override {
    return attention::rows_from_tensors(at(sequence, layer));
  }
  [[nodiscard]] Result<attention::LayerTensors> tensors(std::int32_t sequence,
                                                        std::int32_t layer) const override {
    return at(sequence, layer);
  }
  [[nodiscard]] std::int64_t tokens(std::int32_t sequence, std::int32_t layer) const override {
    return at(sequence, layer).tokens;
  }

 private:
  [[nodiscard]] const attention::LayerTensors& at(std::int32_t sequence, std::int32_t layer) const {
    return layers_[static_cast<std::size_t>(sequence)][static_cast<std::size_t>(layer)];
  }
  std::vector<std::vector<attention::LayerTensors>> layers_;
  attention::RecordingInfo info_;
};

/// `layers` layers of sequences with these numbers of tokens, all of one random shape. `coarse` as in random_tensors.
inline ManyTensors random_recording(Random& random, const std::vector<std::int64_t>& tokens,
                                    std::size_t layers, bool coarse) {
  const auto kv_heads = static_cast<std::int32_t>(random.between(1, 2));
  const auto group = static_cast<std::int32_t>(random.between(1, 2));
  const attention::LayerTensors size = attention::random_tensors(random, kv_heads, group, 1, coarse);
  std::vector<std::vector<attention::LayerTensors>> all;
  for (const std::int64_t count : tokens) {
    all.emplace_back();
    while (all.back().size() < layers) {
      attention::LayerTensors made = attention::random_tensors(random, kv_heads, group, count, coarse);
      if (made.key_size == size.key_size && made.value_size == size.value_size)
        all.back().push_back(std::move(made));
    }
  }
  return ManyTensors(std::move(all));
}

inline NaiveLayer naive_of(const attention::Recording& recording, std::int32_t sequence, std::int32_t layer) {
  NaiveLayer out;
  const attention::LayerInfo info = recording.info().layer(layer);
  out.heads.resize(static_cast<std::size_t>(info.query_heads));
  if (recording.tokens(sequence, layer) == 0) return out;
  const auto reader = recording.open(sequence, layer).value();
  for (std::int64_t t = 0; t < recording.tokens(sequence, layer); ++t) {
    EXPECT_TRUE(reader->seek(t).ok());
    for (std::int32_t h = 0; h < info.query_heads; ++h) {
      const attention::RowView row = reader->row(h);
      auto& to = out.heads[static_cast<std::size_t>(h)].emplace_back();
      for (std::int64_t i = 0; i <= t; ++i)
        to.push_back(row.f64 != nullptr ? row.f64[i] : static_cast<double>(row.f32[i]));
    }
  }
  if (auto tensors = recording.tensors(sequence, layer); tensors.ok())
    out.tensors = std::move(tensors).value();
  return out;
}

}  // namespace kvplan::survey
