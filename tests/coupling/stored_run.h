// Runs of a small model with a format: what the ledger counts as stored after a prompt and after each later token,
// and what codecs store for the same tokens.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulator/results/report.h"
#include "simulator/run/run.h"
#include "tests/unit/formats/support.h"

namespace kvplan::test {

using Values = std::vector<std::pair<std::string, std::string>>;

inline Result<runs::Scenario> resolved(const Values& values) {
  std::vector<runs::Setting> settings;
  for (const auto& [path, text] : values) settings.push_back({path, text, {}, 0});
  return runs::resolve(settings);
}

/// Options for a model with this many equal layers.
inline runs::RunOptions options_with(std::int64_t layers, std::int64_t heads, std::int64_t size) {
  runs::RunOptions out;
  out.request_memory = true;
  out.timeline_bins = 13;
  out.open_model = [=](const std::string& /*path*/) -> Result<model::ModelShape> {
    return model::ModelShape{.name = "small",
                             .source = "test",
                             .layers = layers,
                             .hidden = heads * size,
                             .query_heads = heads,
                             .kv_heads = heads,
                             .element_bytes = 2,
                             .runs = {{layers, {.heads = heads, .key_size = size, .value_size = size}}},
                             .weight_shape = {.feed_forward = 12, .key_size = size, .value_size = size}};
  };
  return out;
}

/// All figures, without the run's sentences about itself.
inline std::string figures(runs::RunResult r) {
  r.scenario = resolved({}).value();
  r.warnings.clear();
  r.assumptions.clear();
  return runs::report_json(r) + runs::requests_csv(r) + runs::timeline_csv(r);
}

/// Reads the ledger at the end of every step.
class Stored final : public core::Observer {
 public:
  explicit Stored(const observe::Ledger& ledger) : ledger_(ledger) {}
  void on_finish(SimTime /*time*/, const core::Release& /*release*/) override { ended_ = true; }
  void on_settled(SimTime /*time*/, const core::PoolCounts& /*pool*/) override {
    if (ended_) return;
    const observe::StateCounts bytes = ledger_.bytes();
    live.push_back(bytes[index(observe::State::kLive)]);
    metadata.push_back(bytes[index(observe::State::kMetadata)]);
  }
  std::vector<std::int64_t> live, metadata;  ///< after each step

 private:
  const observe::Ledger& ledger_;
  bool ended_{false};
};

/// For a prompt that is computed in `steps` steps: one entry after each step, and one after each output token except
/// the last one, which ends the request.
inline std::unique_ptr<Stored> stored_in_run(const Values& values, std::int32_t prompt, std::int32_t output,
                                             runs::RunOptions how, std::int32_t prompt_steps = 1) {
  traces::Trace trace;
  trace.arrival_ns = {0};
  trace.input_tokens = {prompt};
  trace.output_tokens = {output};
  trace.digest = "one";
  how.timeline_bins = 0;
  how.step_by_step = true;
  std::unique_ptr<Stored> stored;
  how.extra_observers.push_back([&](const runs::Watched& watched) -> Result<core::Observer*> {
    stored = std::make_unique<Stored>(watched.ledger);
    return static_cast<core::Observer*>(stored.get());
  });
  const auto scenario = resolved(values);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  const auto result = runs::run_scenario(scenario.value(), trace, how);
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  EXPECT_EQ(std::ssize(stored->live), output + prompt_steps - 2);
  return stored;
}

/// One codec per layer, all with the same numbers; the prompt is complete.
class LayerCodecs {
 public:
  LayerCodecs(const formats::FormatChoice& format, std::int64_t layers, formats::test::Layer layer,
              std::int64_t prompt)
      : layer_(std::move(layer)) {
    for (std::int64_t l = 0; l < layers; ++l) {
      codecs_.push_back(formats::make_codec(formats::of_layer(format, l, layers), layer_.shape));
      formats::test::append(*codecs_.back(), layer_, 0, prompt);
      codecs_.back()->end_prompt({.tokens = prompt, .heads = layer_.queries});
    }
  }
  void step(std::int64_t token) {
    for (const auto& codec : codecs_) {
      formats::test::append(*codec, layer_, token, token + 1);
      codec->end_step();
    }
  }
  /// Drops the token in all heads that still store it.
  void drop_position(std::int64_t position) {
    for (const auto& codec : codecs_)
      for (std::int32_t h = 0; h < codec->shape().kv_heads; ++h) {
        const auto positions = codec->positions(h);
        const auto at = std::find(positions.begin(), positions.end(), position);
        if (at == positions.end()) continue;
        const auto index = static_cast<std::int32_t>(at - positions.begin());
        codec->drop(h, std::span(&index, 1));
      }
  }
  [[nodiscard]] std::int64_t total() const {
    std::int64_t out = 0;
    for (const auto& codec : codecs_) out += codec->total_bytes();
    return out;
  }
  [[nodiscard]] std::int64_t metadata() const {
    std::int64_t out = 0;
    for (const auto& codec : codecs_)
      for (const formats::Side side : formats::kSides) out += codec->regions(side).metadata();
    return out;
  }

 private:
  formats::test::Layer layer_;
  std::vector<std::unique_ptr<formats::Codec>> codecs_;
};

}  // namespace kvplan::test
