#include "simulator/io/kva_limits.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "simulator/base/json_writer.h"

namespace kvplan::io {
namespace {

Status within(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return Done{};
  return bad_input("expected " + std::to_string(low) + " to " + std::to_string(high) + ", found " +
                   std::to_string(value))
      .at_field(field);
}

using attention::Element;
using attention::LayerInfo;
using attention::Part;
using attention::RecordedForm;
using attention::RecordingInfo;

constexpr double kMostScale = 1e6;
constexpr double kMostFrequency =
    1e5;  ///< times the greatest position it is below 2^50, where sines lose meaning

Status check_model(const RecordingInfo& info) {
  KVPLAN_TRY_DO(within("model.layers", info.layers, 1, 4096));
  KVPLAN_TRY_DO(within("model.query_heads", info.query_heads, 1, 1024));
  KVPLAN_TRY_DO(within("model.kv_heads", info.kv_heads, 1, info.query_heads));
  if (info.query_heads % info.kv_heads != 0)
    return bad_input("expected a divisor of " + std::to_string(info.query_heads) + " query heads, found " +
                     std::to_string(info.kv_heads))
        .at_field("model.kv_heads");
  return Done{};
}

Status check_lengths(std::string_view field, const attention::SequenceInfo& sequence) {
  const std::string name(field);
  KVPLAN_TRY_DO(within(name + ".tokens", sequence.tokens, 1, kMaxTokens));
  return within(name + ".prompt_tokens", sequence.prompt_tokens, 0, sequence.tokens);
}

Status check_version_1(const RecordingInfo& info) {
  const bool tensors = info.form == RecordedForm::kTensors;
  KVPLAN_TRY_DO(check_model(info));
  KVPLAN_TRY_DO(within("model.key_size", info.key_size, tensors ? 1 : 0, 65536));
  KVPLAN_TRY_DO(within("model.value_size", info.value_size, info.has_values ? 1 : 0, 65536));
  KVPLAN_TRY_DO(within("model.cache_element_bytes", info.cache_element_bytes, 0, 16));
  KVPLAN_TRY_DO(within("sequences", static_cast<std::int64_t>(info.sequences.size()), 1, kMaxSequences));
  for (std::size_t i = 0; i < info.sequences.size(); ++i)
    KVPLAN_TRY_DO(check_lengths("sequences[" + std::to_string(i) + "]", info.sequences[i]));
  const bool known =
      tensors
          ? info.element == Element::kF32 || info.element == Element::kF16 || info.element == Element::kBf16
          : info.element == Element::kF64 || info.element == Element::kF32 || info.element == Element::kF16;
  if (!known)
    return bad_input(tensors ? "tensors are f32, f16 or bf16" : "rows are f64, f32 or f16")
        .at_field("element");
  if (tensors && !(info.logit_scale > 0 && info.logit_scale <= kMostScale))
    return bad_input("expected a number above 0 and at most 1e6").at_field("logit_scale");
  return Done{};
}

bool may_be(Part part, Element element) {
  switch (part) {
    case Part::kRows:
    case Part::kTopRows:
      return element == Element::kF64 || element == Element::kF32 || element == Element::kF16;
    case Part::kTokenClasses:
      return element == Element::kU8;
    case Part::kPositions:
      return element == Element::kU32;
    default:
      return element == Element::kF32 || element == Element::kF16 || element == Element::kBf16;
  }
}

Status check_stored(const RecordingInfo& info) {
  attention::PartSet seen;
  for (std::size_t i = 0; i < info.stored.size(); ++i) {
    const auto [part, element] = info.stored[i];
    const std::string field = "parts[" + std::to_string(i) + "]";
    if (i > 0 && info.stored[i - 1].part >= part)
      return bad_input("expected parts in ascending order").at_field(field);
    if (!may_be(part, element))
      return bad_input("an element that " + std::string(attention::part_name(part)) + " cannot have")
          .at_field(field + ".element");
    seen.add(part);
  }
  if (seen.has(Part::kRows) && seen.has(Part::kTopRows))
    return bad_input("expected rows or top rows, found both").at_field("parts");
  if (seen.has(Part::kQueries) && !seen.has(Part::kKeys))
    return bad_input("expected queries and keys together").at_field("parts");
  if (seen.has(Part::kTokenClasses) && info.token_classes.empty())
    return bad_input("expected names of token classes").at_field("token_classes");
  return within("token_classes", static_cast<std::int64_t>(info.token_classes.size()), 0, 256);
}

Status check_rotary(const attention::Rotary& rotary, std::int64_t key_size, const std::string& field) {
  if (rotary.dims == 0) return Done{};
  if (rotary.dims % 2 != 0 || rotary.dims < 0 || rotary.first < 0 ||
      std::int64_t{rotary.first} + rotary.dims > key_size)
    return bad_input("expected an even number of elements within a key of " + std::to_string(key_size) +
                     ", found " + std::to_string(rotary.dims) + " from " + std::to_string(rotary.first))
        .at_field(field + ".dims");
  const auto between = [&](std::string_view name, double value, std::string_view low, std::string_view high,
                           bool good) -> Status {
    if (good) return Done{};
    return bad_input("expected a number from " + std::string(low) + " to " + std::string(high) + ", found " +
                     shortest(value))
        .at_field(field + "." + std::string(name));
  };
  const double amplitude = rotary.amplitude;
  KVPLAN_TRY_DO(
      between("amplitude", amplitude, "1e-6", "1e6", amplitude >= 1 / kMostScale && amplitude <= kMostScale));
  if (rotary.inverse_frequencies.empty()) {
    const double factor = rotary.linear_factor;
    KVPLAN_TRY_DO(between("base", rotary.base, "1", "1e30", rotary.base >= 1 && rotary.base <= 1e30));
    return between("linear_factor", factor, "1e-5", "1e9", factor >= 1 / kMostFrequency && factor <= 1e9);
  }
  const auto pairs = static_cast<std::int64_t>(rotary.inverse_frequencies.size());
  KVPLAN_TRY_DO(within(field + ".inverse_frequencies", pairs, rotary.dims / 2, rotary.dims / 2));
  for (const double each : rotary.inverse_frequencies)
    KVPLAN_TRY_DO(between("inverse_frequencies", each, "0", "1e5", each >= 0 && each <= kMostFrequency));
  return Done{};
}

Status check_head_numbers(const std::vector<double>& numbers, std::int32_t heads, const std::string& field) {
  if (numbers.empty()) return Done{};
  const auto count = static_cast<std::int64_t>(numbers.size());
  KVPLAN_TRY_DO(within(field, count, heads, heads));
  for (const double each : numbers)
    if (!(std::fabs(each) <= kMostScale))
      return bad_input("expected numbers from -1e6 to 1e6").at_field(field);
  return Done{};
}

Status check_shape(const LayerInfo& layer, const std::string& field) {
  KVPLAN_TRY_DO(within(field + ".query_heads", layer.model_query_heads, 1, 1024));
  KVPLAN_TRY_DO(within(field + ".kv_heads", layer.model_kv_heads, 1, layer.model_query_heads));
  if (layer.model_query_heads % layer.model_kv_heads != 0)
    return bad_input("expected a divisor of " + std::to_string(layer.model_query_heads) +
                     " query heads, found " + std::to_string(layer.model_kv_heads))
        .at_field(field + ".kv_heads");
  std::int32_t before = -1;
  for (const std::int32_t head : layer.recorded_kv_heads) {
    if (head <= before || head >= layer.model_kv_heads)
      return bad_input("expected ascending numbers below " + std::to_string(layer.model_kv_heads) +
                       ", found " + std::to_string(head))
          .at_field(field + ".recorded_kv_heads");
    before = head;
  }
  const bool keys = layer.parts.has(Part::kKeys) || layer.parts.has(Part::kQueries);
  const bool values = layer.parts.has(Part::kValues) || layer.parts.has(Part::kOutputWeights);
  KVPLAN_TRY_DO(within(field + ".key_size", layer.key_size, keys ? 1 : 0, 65536));
  return within(field + ".value_size", layer.value_size, values ? 1 : 0, 65536);
}

Status check_layer(const RecordingInfo& info, const LayerInfo& layer, const std::string& field) {
  KVPLAN_TRY_DO(within(field + ".layer", layer.layer, 0, info.layers - 1));
  KVPLAN_TRY_DO(check_shape(layer, field));
  const auto has = [&](Part part) { return layer.parts.has(part); };
  const bool hidden = has(Part::kLayerInputs) || has(Part::kOutputWeights);
  KVPLAN_TRY_DO(within("model.hidden_size", info.hidden_size, hidden ? 1 : 0, 65536));
  for (std::uint32_t part = 1; part <= attention::kLastPart; ++part) {
    if (!has(static_cast<Part>(part))) continue;
    const bool of_file = std::any_of(info.stored.begin(), info.stored.end(), [&](const auto& stored) {
      return stored.part == static_cast<Part>(part);
    });
    if (!of_file || part >= static_cast<std::uint32_t>(Part::kTokenClasses))
      return bad_input("expected parts 1 to 8 that the header lists, found " + std::to_string(part))
          .at_field(field + ".parts");
  }
  if (has(Part::kQueries) && !has(Part::kKeys))
    return bad_input("expected queries and keys together").at_field(field + ".parts");
  if (has(Part::kQueries) && !(layer.logit_scale > 0 && layer.logit_scale <= kMostScale))
    return bad_input("expected a number above 0 and at most 1e6").at_field(field + ".logit_scale");
  if (!(layer.soft_cap >= 0 && layer.soft_cap <= kMostScale))
    return bad_input("expected a number from 0 to 1e6").at_field(field + ".soft_cap");
  KVPLAN_TRY_DO(check_head_numbers(layer.sink_logits, layer.model_query_heads, field + ".sink_logits"));
  KVPLAN_TRY_DO(check_head_numbers(layer.bias_slopes, layer.model_query_heads, field + ".bias_slopes"));
  if (!layer.rotary || !(has(Part::kKeys) || has(Part::kQueries))) return Done{};
  return check_rotary(*layer.rotary, layer.key_size, field + ".rotary");
}

Status check_version_2(const RecordingInfo& info) {
  KVPLAN_TRY_DO(check_model(info));
  KVPLAN_TRY_DO(within("model.cache_element_bytes", info.cache_element_bytes, 0, 16));
  KVPLAN_TRY_DO(check_stored(info));
  if (info.recorded_layers.empty()) return bad_input("expected at least one layer").at_field("layers");
  for (std::size_t i = 0; i < info.recorded_layers.size(); ++i) {
    const std::string field = "layers[" + std::to_string(i) + "]";
    if (i > 0 && info.recorded_layers[i - 1].layer >= info.recorded_layers[i].layer)
      return bad_input("expected layers in ascending order").at_field(field);
    KVPLAN_TRY_DO(check_layer(info, info.recorded_layers[i], field));
  }
  return Done{};
}

}  // namespace

std::int64_t element_bytes(Element element) {
  constexpr std::int64_t kBytes[] = {8, 4, 2, 2, 1, 4};
  return kBytes[static_cast<std::size_t>(element)];
}

Status check_kva_limits(const RecordingInfo& info) {
  return info.version == 1 ? check_version_1(info) : check_version_2(info);
}

Status check_sequence(const attention::SequenceInfo& sequence, std::size_t number) {
  const std::string field = "sequence " + std::to_string(number);
  if (sequence.complete) return check_lengths(field, sequence);
  return within(field + ".prompt_tokens", sequence.prompt_tokens, 0, kMaxTokens);
}

}  // namespace kvplan::io
