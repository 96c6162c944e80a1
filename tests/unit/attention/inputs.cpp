#include "tests/unit/attention/inputs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "simulator/attention/memory_recording.h"

namespace kvplan::attention {
namespace {

class SomeHeads final : public Recording {
 public:
  SomeHeads(std::shared_ptr<const Recording> whole, const std::vector<std::vector<std::int32_t>>& heads)
      : whole_(std::move(whole)), info_(whole_->info()) {
    for (std::int32_t number = 0; number < info_.layers; ++number) {
      LayerInfo layer = whole_->info().layer(number);
      layer.recorded_kv_heads = heads[static_cast<std::size_t>(number)];
      layer.kv_heads = static_cast<std::int32_t>(layer.recorded_kv_heads.size());
      layer.query_heads = layer.kv_heads * layer.group;
      if (layer.kv_heads > 0) info_.recorded_layers.push_back(layer);
    }
  }
  [[nodiscard]] const RecordingInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::unique_ptr<LayerRows>> open(std::int32_t sequence,
                                                        std::int32_t layer) const override {
    KVPLAN_TRY(auto rows, whole_->open(sequence, layer));
    const LayerInfo of = info_.layer(layer);
    return std::unique_ptr<LayerRows>(std::make_unique<Reader>(std::move(rows), of));
  }

 private:
  class Reader final : public LayerRows {
   public:
    Reader(std::unique_ptr<LayerRows> whole, LayerInfo layer)
        : whole_(std::move(whole)), layer_(std::move(layer)) {}
    Status seek(std::int64_t t) override { return whole_->seek(t); }
    [[nodiscard]] RowView row(std::int32_t head) const override {
      // Written out apart from LayerInfo::model_query_head.
      const auto stored = static_cast<std::size_t>(head / layer_.group);
      return whole_->row(layer_.recorded_kv_heads[stored] * layer_.group + head % layer_.group);
    }

   private:
    std::unique_ptr<LayerRows> whole_;
    LayerInfo layer_;
  };
  std::shared_ptr<const Recording> whole_;
  RecordingInfo info_;
};

}  // namespace

Rows random_rows(Random& random, int heads, int tokens, RowKind kind) {
  Rows rows(static_cast<std::size_t>(heads));
  for (auto& head : rows) {
    std::vector<double> bias;
    for (int t = 0; t < tokens; ++t) bias.push_back(random.chance(1, 8) ? 3.0 : 0.0);
    for (int t = 0; t < tokens; ++t) {
      std::vector<double> row(static_cast<std::size_t>(t + 1));
      if (kind == RowKind::kTies) {
        for (int unit = 0; unit < 64; ++unit) row[random.below(row.size())] += 1.0 / 64;
      } else if (kind == RowKind::kSharp) {
        for (double& weight : row) weight = random.chance(1, 2) ? 0 : random.chance(1, 2) ? 1e-30 : 1e-300;
        row[random.below(row.size())] = 1;
      } else {
        double sum = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
          row[i] = std::exp(bias[i] + 4 * random.unit());
          if (kind == RowKind::kTwins && i % 2 == 1) row[i] = row[i - 1];
          sum += row[i];
        }
        for (double& weight : row) weight /= sum;
      }
      head.push_back(std::move(row));
    }
  }
  return rows;
}

std::shared_ptr<const Recording> recording_of(const std::vector<Rows>& layers, int group, Element element) {
  RecordingInfo info;
  info.layers = static_cast<std::int32_t>(layers.size());
  info.query_heads = static_cast<std::int32_t>(layers[0].size());
  info.kv_heads = info.query_heads / group;
  info.key_size = info.value_size = 64;
  info.cache_element_bytes = 2;
  info.group = group;
  info.element = element;
  info.sequences.push_back({"", static_cast<std::int64_t>(layers[0][0].size()), 0});
  std::vector<HeadRows> heads;
  for (const Rows& layer : layers) {
    for (const auto& head : layer) {
      heads.emplace_back();
      for (const auto& row : head)
        for (const double weight : row)
          if (element == Element::kF64) {
            heads.back().f64.push_back(weight);
          } else {
            heads.back().f32.push_back(static_cast<float>(weight));
          }
    }
  }
  return std::make_shared<MemoryRecording>(std::move(info), std::move(heads));
}

std::shared_ptr<const Recording> only_heads(std::shared_ptr<const Recording> whole,
                                            const std::vector<std::vector<std::int32_t>>& heads) {
  return std::make_shared<SomeHeads>(std::move(whole), heads);
}

Outcome run_policy(const Recording& recording, const std::string& policy, std::int64_t prompt, int layer) {
  auto parsed = parse_policy(policy);
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().to_string());
  return parsed.ok() ? run_policy(recording, parsed.value(), prompt, layer) : Outcome{};
}

Outcome run_policy(const Recording& recording, const PolicyChoice& policy, std::int64_t prompt, int layer) {
  Outcome out;
  const EvaluationRequest request{.policy = policy, .prompt = prompt, .sequence = 0, .layer = layer};
  auto summary = evaluate(recording, request, [&](const LayerReplay& replay) -> Status {
    Sets sets;
    for (std::int32_t set = 0; set < replay.sets(); ++set) sets.push_back(replay.reported(set));
    if (replay.tokens() == prompt) {
      out.after_prefill = sets;
      return Done{};
    }
    out.retained.push_back(sets);
    out.mass.emplace_back(replay.attended_mass().begin(), replay.attended_mass().end());
    out.error.emplace_back(replay.output_error().begin(), replay.output_error().end());
    return Done{};
  });
  EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.error().to_string());
  if (summary.ok()) out.summary = summary.value();
  return out;
}

}  // namespace kvplan::attention
