#include "simulator/attention/recording.h"

#include <algorithm>
#include <numeric>

#include "simulator/attention/tensor_rows.h"

namespace kvplan::attention {

std::string_view part_name(Part part) {
  constexpr std::string_view kNames[] = {"none",           "rows",          "queries",     "keys",
                                         "values",         "top rows",      "value norms", "layer inputs",
                                         "output weights", "token classes", "positions"};
  return kNames[static_cast<std::size_t>(part)];
}

bool RecordingInfo::has_layer(std::int32_t number) const {
  if (recorded_layers.empty()) return number >= 0 && number < layers;
  return std::any_of(recorded_layers.begin(), recorded_layers.end(),
                     [&](const LayerInfo& layer) { return layer.layer == number; });
}

LayerInfo RecordingInfo::layer(std::int32_t number) const {
  for (const LayerInfo& layer : recorded_layers)
    if (layer.layer == number) return layer;
  KVPLAN_CHECK(recorded_layers.empty(), number);
  LayerInfo out{.layer = number,
                .query_heads = query_heads,
                .kv_heads = kv_heads,
                .group = group,
                .key_size = key_size,
                .value_size = value_size,
                .parts = {},
                .logit_scale = logit_scale,
                .sink_logits = {},
                .bias_slopes = {},
                .rotary = rotary,
                .model_query_heads = query_heads,
                .model_kv_heads = kv_heads,
                .recorded_kv_heads = {}};
  if (form == RecordedForm::kTensors) {
    out.parts = {Part::kQueries, Part::kKeys};
    if (has_values) out.parts.add(Part::kValues);
  } else {
    out.parts.add(form == RecordedForm::kDenseRows ? Part::kRows : Part::kTopRows);
  }
  return out;
}

std::vector<std::int32_t> RecordingInfo::layer_numbers() const {
  std::vector<std::int32_t> out;
  for (const LayerInfo& layer : recorded_layers) out.push_back(layer.layer);
  if (!out.empty()) return out;
  out.resize(static_cast<std::size_t>(layers));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

std::string ranges_text(const std::vector<std::int32_t>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!out.empty()) out += ", ";
    out += std::to_string(numbers[i]);
    if (last > i) out += (last > i + 1 ? " to " : ", ") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return out.empty() ? "none" : out;
}

Result<LayerTensors> Recording::tensors(std::int32_t /*sequence*/, std::int32_t /*layer*/) const {
  return bad_input("expected queries and keys, found attention rows");
}

std::int64_t Recording::tokens(std::int32_t sequence, std::int32_t layer) const {
  if (!info().has_layer(layer)) return 0;
  return info().sequences[static_cast<std::size_t>(sequence)].tokens;
}

Result<std::vector<float>> Recording::numbers(std::int32_t /*sequence*/, std::int32_t layer, Part part,
                                              std::int32_t /*head*/) const {
  return bad_input(std::string(part_name(part)) + " of layer " + std::to_string(layer) +
                   " were not recorded");
}

Result<std::vector<std::uint8_t>> Recording::token_classes(std::int32_t /*sequence*/) const {
  return std::vector<std::uint8_t>{};
}

Status check_recorded_layer(const Recording& recording, std::int32_t sequence, std::int32_t layer) {
  const RecordingInfo& info = recording.info();
  const auto within = [](std::string_view what, std::int64_t value, std::int64_t high) -> Status {
    if (value >= 0 && value <= high) return Done{};
    return bad_input("expected 0 to " + std::to_string(high) + " for this recording, found " +
                     std::to_string(value))
        .at_field(what);
  };
  KVPLAN_TRY_DO(within("--sequence", sequence, static_cast<std::int64_t>(info.sequences.size()) - 1));
  KVPLAN_TRY_DO(within("--layer", layer, info.layers - 1));
  if (recording.tokens(sequence, layer) > 0) return Done{};
  std::vector<std::int32_t> recorded;
  for (const std::int32_t number : info.layer_numbers())
    if (recording.tokens(sequence, number) > 0) recorded.push_back(number);
  return bad_input("layer " + std::to_string(layer) + " of sequence " + std::to_string(sequence) +
                   " was not recorded; recorded layers: " + ranges_text(recorded))
      .at_field("--layer");
}

std::string missing_heads(const LayerInfo& layer) {
  std::vector<std::int32_t> missing;
  for (std::int32_t head = 0; head < layer.model_kv_heads && !layer.recorded_kv_heads.empty(); ++head)
    if (!std::binary_search(layer.recorded_kv_heads.begin(), layer.recorded_kv_heads.end(), head))
      missing.push_back(head);
  if (missing.empty()) return {};
  return (missing.size() == 1 ? "lacks KV head " : "lacks KV heads ") + ranges_text(missing);
}

std::int64_t tokens_of_all_layers(const Recording& recording, std::int32_t sequence) {
  std::int64_t out = recording.info().sequences[static_cast<std::size_t>(sequence)].tokens;
  for (std::int32_t layer = 0; layer < recording.info().layers; ++layer)
    out = std::min(out, recording.tokens(sequence, layer));
  return out;
}

}  // namespace kvplan::attention
