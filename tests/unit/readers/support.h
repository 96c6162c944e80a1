// Recordings of several layers and sequences for readers, and a reader's reads of a layer, step by step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulator/readers/evaluation.h"
#include "tests/unit/attention/tensor_input.h"

namespace kvplan::readers::testing {

using attention::LayerTensors;

inline constexpr std::int64_t kElementBytes = 2;

/// Sequences and layers as tensors, all with the same shape.
class Layers final : public attention::Recording {
 public:
  /// layers[sequence][layer].
  explicit Layers(std::vector<std::vector<LayerTensors>> layers) : layers_(std::move(layers)) {
    const LayerTensors& first = layers_.front().front();
    info_.layers = static_cast<std::int32_t>(layers_.front().size());
    info_.query_heads = first.query_heads;
    info_.kv_heads = first.kv_heads;
    info_.group = first.query_heads / first.kv_heads;
    info_.key_size = first.key_size;
    info_.value_size = first.value_size;
    info_.cache_element_bytes = kElementBytes;
    info_.form = attention::RecordedForm::kTensors;
    info_.has_values = !first.values.empty();
    for (const auto& sequence : layers_)
      info_.sequences.push_back({.name = "random", .tokens = sequence.front().tokens});
  }
  [[nodiscard]] const attention::RecordingInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::unique_ptr<attention::LayerRows>> open(std::int32_t sequence,
                                                                   std::int32_t layer) const override {
    return attention::rows_from_tensors(at(sequence, layer));
  }
  [[nodiscard]] Result<LayerTensors> tensors(std::int32_t sequence, std::int32_t layer) const override {
    return at(sequence, layer);
  }
  [[nodiscard]] std::int64_t tokens(std::int32_t sequence, std::int32_t layer) const override {
    return at(sequence, layer).tokens;
  }
  [[nodiscard]] const LayerTensors& at(std::int32_t sequence, std::int32_t layer) const {
    return layers_[static_cast<std::size_t>(sequence)][static_cast<std::size_t>(layer)];
  }

 private:
  std::vector<std::vector<LayerTensors>> layers_;
  attention::RecordingInfo info_;
};

/// Random tensors of this shape; now and then with a window (if allowed), a soft cap or sinks.
inline LayerTensors random_layer(Random& random, const LayerTensors& shape, std::int64_t tokens, bool coarse,
                                 bool windows) {
  for (;;) {
    LayerTensors out =
        attention::random_tensors(random, shape.kv_heads, shape.query_heads / shape.kv_heads, tokens, coarse);
    if (out.key_size != shape.key_size || out.value_size != shape.value_size) continue;
    if (windows && random.chance(1, 4)) out.window = random.between(1, tokens);
    if (random.chance(1, 4)) out.soft_cap = 1.5;
    if (random.chance(1, 4))
      for (std::int32_t h = 0; h < out.query_heads; ++h) out.sink_logits.push_back(2 * random.unit() - 1);
    return out;
  }
}

inline Layers random_recording(Random& random, const std::vector<std::int64_t>& tokens, std::size_t layers,
                               bool coarse, bool windows = true) {
  const auto kv_heads = static_cast<std::int32_t>(random.between(1, 2));
  const auto group = static_cast<std::int32_t>(random.between(1, 3));
  const LayerTensors shape = attention::random_tensors(random, kv_heads, group, 1, coarse);
  std::vector<std::vector<LayerTensors>> all;
  for (const std::int64_t count : tokens) {
    all.emplace_back();
    while (all.back().size() < layers)
      all.back().push_back(random_layer(random, shape, count, coarse, windows));
  }
  return Layers(std::move(all));
}

inline Lane lane(const std::string& text, std::vector<attention::HeadTable> tables = {}) {
  auto reader = parse_reader(text);
  EXPECT_TRUE(reader.ok()) << text << ": " << reader.error().to_string();
  reader.value().tables = std::move(tables);
  return {.reader = std::move(reader).value()};
}

inline attention::LayerInfo layer_info(const LayerTensors& in, std::int32_t layer) {
  attention::LayerInfo out;
  out.layer = layer;
  out.query_heads = out.model_query_heads = in.query_heads;
  out.kv_heads = out.model_kv_heads = in.kv_heads;
  return out;
}

/// One step of a reader.
struct Read {
  std::int64_t t{0};
  std::vector<ReadSet> sets;
  std::vector<std::int64_t> kept_metadata;             ///< [KV head]
  std::vector<std::int64_t> read_metadata;             ///< [KV head], without metadata that comes with tokens
  std::vector<std::vector<std::int64_t>> with_tokens;  ///< [query head][of the set]
};

/// All decode steps of a reader on a layer of which it may read a part.
inline std::vector<Read> reads_of(const Lane& lane, const LayerTensors& in, std::int32_t layer,
                                  std::int64_t prompt) {
  const attention::LayerInfo info = layer_info(in, layer);
  const ReaderInput input{.choice = lane.reader.choice,
                          .tensors = in,
                          .layer = info,
                          .prompt = prompt,
                          .element_bytes = kElementBytes,
                          .tables = lane.reader.tables};
  const auto reader = lane.reader.kind->make(input);
  const auto rows = attention::rows_from_tensors(in);
  std::vector<Read> out;
  for (std::int64_t t = prompt; t < in.tokens; ++t) {
    EXPECT_TRUE(rows->seek(t).ok());
    Read& read = out.emplace_back();
    read.t = t;
    read.sets.resize(static_cast<std::size_t>(in.query_heads));
    reader->append(t);
    reader->read(t, *rows, read.sets);
    for (std::int32_t h = 0; h < in.kv_heads; ++h) {
      read.kept_metadata.push_back(reader->kept_metadata_bytes(h));
      read.read_metadata.push_back(reader->read_metadata_bytes(h));
    }
    for (const ReadSet& set : read.sets) {
      read.with_tokens.emplace_back();
      for (const std::int32_t position : set)
        read.with_tokens.back().push_back(reader->entry_bytes(position));
    }
  }
  return out;
}

inline Status go_on() {
  return Done{};
}

}  // namespace kvplan::readers::testing
