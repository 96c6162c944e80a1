#include "simulator/io/kva_header.h"

#include <algorithm>
#include <string>

#include "proto/attention.pb.h"
#include "simulator/io/kva_limits.h"

namespace kvplan::io {
namespace {

using attention::Element;
using attention::LayerInfo;
using attention::Part;
using attention::RecordedForm;
using attention::RecordingInfo;
using attention::Rotary;

/// A file that says nothing about its cache gets these, and reports say so.
constexpr std::int32_t kAssumedSize = 128;
constexpr std::int32_t kAssumedElementBytes = 2;

std::int32_t signed_number(std::uint32_t value) {
  return static_cast<std::int32_t>(std::min<std::uint32_t>(value, INT32_MAX));
}
std::uint32_t wire(std::int32_t value) {
  return static_cast<std::uint32_t>(value);
}

Error outside(std::string_view field, std::string_view expected, std::int64_t found) {
  return bad_input("expected " + std::string(expected) + ", found " + std::to_string(found)).at_field(field);
}

Result<RecordedForm> form_of(const v1::AttentionHeader& header) {
  switch (header.form()) {
    case v1::ATTENTION_FORM_DENSE_ROWS:
      return RecordedForm::kDenseRows;
    case v1::ATTENTION_FORM_TOP_ENTRIES:
      return RecordedForm::kTopEntries;
    case v1::ATTENTION_FORM_TENSORS:
      return RecordedForm::kTensors;
    default:
      return outside("form", "1 to 3", header.form());
  }
}

Status read_version_1(const v1::AttentionHeader& header, RecordingInfo& info) {
  KVPLAN_TRY(info.form, form_of(header));
  if (header.element() < v1::ATTENTION_ELEMENT_F64 || header.element() > v1::ATTENTION_ELEMENT_BF16)
    return outside("element", "1 to 4", header.element());
  info.element = static_cast<Element>(header.element() - 1);
  info.logit_scale = info.form == RecordedForm::kTensors ? header.logit_scale() : 1.0;
  info.has_values = info.form == RecordedForm::kTensors && header.has_values();
  for (const auto& sequence : header.sequences())
    info.sequences.push_back({sequence.name(), sequence.tokens(), sequence.prompt_tokens()});
  return Done{};
}

Result<std::optional<Rotary>> rotary_of(const v1::AttentionRotary& message, const std::string& field) {
  Rotary out;
  out.first = signed_number(message.first());
  out.dims = signed_number(message.dims());
  if (out.dims == 0) return std::optional<Rotary>();
  const auto layout = message.layout();
  if (layout != v1::ATTENTION_ROTARY_LAYOUT_HALVES && layout != v1::ATTENTION_ROTARY_LAYOUT_INTERLEAVED)
    return outside(field + ".layout", "1 or 2", layout);
  out.layout = static_cast<attention::RotaryLayout>(layout);
  out.base = message.base();
  out.linear_factor = message.linear_factor() == 0 ? 1 : message.linear_factor();
  out.inverse_frequencies.assign(message.inverse_frequencies().begin(), message.inverse_frequencies().end());
  out.amplitude = message.amplitude() == 0 ? 1 : message.amplitude();
  return std::optional<Rotary>(std::move(out));
}

Result<Part> part_of(std::int64_t value, const std::string& field) {
  if (value < 1 || value > attention::kLastPart)
    return outside(field, "a part from 1 to " + std::to_string(attention::kLastPart), value);
  return static_cast<Part>(value);
}

Status read_layer(const v1::AttentionHeader& header, const v1::AttentionLayer& message,
                  const std::string& field, const RecordingInfo& info, LayerInfo& out) {
  const auto or_model = [](std::uint32_t given, std::int32_t usual) {
    return given == 0 ? usual : signed_number(given);
  };
  out.layer = signed_number(message.layer());
  out.model_query_heads = or_model(message.query_heads(), info.query_heads);
  out.model_kv_heads = or_model(message.kv_heads(), info.kv_heads);
  out.key_size = or_model(message.key_size(), info.key_size);
  out.value_size = or_model(message.value_size(), info.value_size);
  out.logit_scale = message.logit_scale() == 0 ? header.logit_scale() : message.logit_scale();
  out.soft_cap = message.soft_cap() == 0 ? header.soft_cap() : message.soft_cap();
  out.window = message.window();
  out.sink_logits.assign(message.sink_logits().begin(), message.sink_logits().end());
  out.bias_slopes.assign(message.bias_slopes().begin(), message.bias_slopes().end());
  out.rotary = info.rotary;
  if (message.has_rotary()) {
    KVPLAN_TRY(out.rotary, rotary_of(message.rotary(), field + ".rotary"));
  }
  for (const int part : message.parts()) {
    KVPLAN_TRY(const Part known, part_of(part, field + ".parts"));
    out.parts.add(known);
  }
  if (message.parts().empty())
    for (const attention::StoredPart& stored : info.stored)
      if (stored.part < Part::kTokenClasses) out.parts.add(stored.part);
  for (const std::uint32_t head : message.recorded_kv_heads())
    out.recorded_kv_heads.push_back(signed_number(head));
  return Done{};
}

/// Counts whatever the limits allow to be counted. REQUIRES: check_kva_limits.
void count_heads(RecordingInfo& info) {
  bool rows = false;
  bool top = false;
  info.has_values = true;
  for (LayerInfo& layer : info.recorded_layers) {
    layer.group = layer.model_query_heads / layer.model_kv_heads;
    layer.kv_heads = layer.recorded_kv_heads.empty()
                         ? layer.model_kv_heads
                         : static_cast<std::int32_t>(layer.recorded_kv_heads.size());
    layer.query_heads = layer.kv_heads * layer.group;
    rows = rows || layer.parts.has(Part::kRows);
    top = top || layer.parts.has(Part::kTopRows);
    info.has_values = info.has_values && layer.parts.has(Part::kValues);
  }
  info.form = top ? RecordedForm::kTopEntries : rows ? RecordedForm::kDenseRows : RecordedForm::kTensors;
}

Status read_version_2(const v1::AttentionHeader& header, RecordingInfo& info) {
  if (header.form() != 0 || header.element() != 0 || header.has_values() || header.sequences_size() > 0)
    return bad_input("expected no form, element, has_values and sequences: only version 1 has them");
  info.logit_scale = header.logit_scale();
  info.hidden_size = signed_number(header.model().hidden_size());
  if (header.has_rotary()) {
    KVPLAN_TRY(info.rotary, rotary_of(header.rotary(), "rotary"));
  }
  info.token_classes.assign(header.token_classes().begin(), header.token_classes().end());
  info.recorder = header.recorder();
  info.recorder_version = header.recorder_version();
  info.machine = header.machine();
  info.model_digest = header.model_digest();
  for (int i = 0; i < header.parts_size(); ++i) {
    const std::string field = "parts[" + std::to_string(i) + "]";
    KVPLAN_TRY(const Part part, part_of(header.parts(i).part(), field + ".part"));
    const std::int64_t element = header.parts(i).element();
    if (element < v1::ATTENTION_ELEMENT_F64 || element > v1::ATTENTION_ELEMENT_U32)
      return outside(field + ".element", "1 to 6", element);
    info.stored.push_back({part, static_cast<Element>(element - 1)});
  }
  for (int i = 0; i < header.layers_size(); ++i) {
    LayerInfo layer;
    KVPLAN_TRY_DO(read_layer(header, header.layers(i), "layers[" + std::to_string(i) + "]", info, layer));
    info.recorded_layers.push_back(std::move(layer));
  }
  return Done{};
}

v1::AttentionElement wire(Element element) {
  return static_cast<v1::AttentionElement>(static_cast<int>(element) + 1);
}

v1::AttentionForm wire(RecordedForm form) {
  switch (form) {
    case RecordedForm::kDenseRows:
      return v1::ATTENTION_FORM_DENSE_ROWS;
    case RecordedForm::kTopEntries:
      return v1::ATTENTION_FORM_TOP_ENTRIES;
    case RecordedForm::kTensors:
      return v1::ATTENTION_FORM_TENSORS;
  }
  return v1::ATTENTION_FORM_UNSPECIFIED;
}

void write_version_1(const RecordingInfo& info, v1::AttentionHeader& header) {
  header.set_form(wire(info.form));
  header.set_element(wire(info.element));
  if (info.form == RecordedForm::kTensors) header.set_logit_scale(info.logit_scale);
  header.set_has_values(info.has_values);
  for (const auto& sequence : info.sequences) {
    auto& out = *header.add_sequences();
    out.set_name(sequence.name);
    out.set_tokens(static_cast<std::uint32_t>(sequence.tokens));
    out.set_prompt_tokens(static_cast<std::uint32_t>(sequence.prompt_tokens));
  }
}

void write_rotary(const std::optional<Rotary>& rotary, v1::AttentionRotary& out) {
  if (!rotary) return;
  out.set_layout(static_cast<v1::AttentionRotaryLayout>(rotary->layout));
  out.set_first(wire(rotary->first));
  out.set_dims(wire(rotary->dims));
  if (rotary->inverse_frequencies.empty()) {
    out.set_base(rotary->base);
    out.set_linear_factor(rotary->linear_factor);
  }
  for (const double each : rotary->inverse_frequencies) out.add_inverse_frequencies(each);
  out.set_amplitude(rotary->amplitude);
}

void write_layer(const RecordingInfo& info, const LayerInfo& layer, v1::AttentionLayer& out) {
  out.set_layer(wire(layer.layer));
  for (std::uint32_t part = 1; part <= attention::kLastPart; ++part)
    if (layer.parts.has(static_cast<Part>(part))) out.add_parts(static_cast<v1::AttentionPart>(part));
  out.set_query_heads(wire(layer.model_query_heads));
  out.set_kv_heads(wire(layer.model_kv_heads));
  if (!info.sizes_assumed) {
    out.set_key_size(wire(layer.key_size));
    out.set_value_size(wire(layer.value_size));
  }
  out.set_logit_scale(layer.logit_scale);
  out.set_window(static_cast<std::uint32_t>(layer.window));
  out.set_soft_cap(layer.soft_cap);
  for (const double each : layer.sink_logits) out.add_sink_logits(each);
  for (const double each : layer.bias_slopes) out.add_bias_slopes(each);
  if (layer.rotary != info.rotary) write_rotary(layer.rotary, *out.mutable_rotary());
  for (const std::int32_t head : layer.recorded_kv_heads) out.add_recorded_kv_heads(wire(head));
}

void write_version_2(const RecordingInfo& info, v1::AttentionHeader& header) {
  if (info.hidden_size > 0) header.mutable_model()->set_hidden_size(wire(info.hidden_size));
  for (const attention::StoredPart& stored : info.stored) {
    auto& out = *header.add_parts();
    out.set_part(static_cast<v1::AttentionPart>(stored.part));
    out.set_element(wire(stored.element));
  }
  if (info.rotary) write_rotary(info.rotary, *header.mutable_rotary());
  for (const std::string& name : info.token_classes) header.add_token_classes(name);
  header.set_recorder(info.recorder);
  header.set_recorder_version(info.recorder_version);
  header.set_machine(info.machine);
  header.set_model_digest(info.model_digest);
  for (const LayerInfo& layer : info.recorded_layers) write_layer(info, layer, *header.add_layers());
}

}  // namespace

Result<RecordingInfo> info_of(const v1::AttentionHeader& header) {
  if (header.version() != 1 && header.version() != 2)
    return outside("version", "version 1 or 2", header.version());
  RecordingInfo info;
  info.version = signed_number(header.version());
  const auto& model = header.model();
  info.model = model.name();
  info.layers = signed_number(model.layers());
  info.query_heads = signed_number(model.query_heads());
  info.kv_heads = signed_number(model.kv_heads());
  info.key_size = signed_number(model.key_size());
  info.value_size = signed_number(model.value_size());
  info.cache_element_bytes = signed_number(model.cache_element_bytes());
  info.positions = header.positions();
  info.source = header.source();
  info.recorded_by = header.recorded_by();
  KVPLAN_TRY_DO(info.version == 1 ? read_version_1(header, info) : read_version_2(header, info));
  KVPLAN_TRY_DO(check_kva_limits(info));
  info.group = info.query_heads / info.kv_heads;
  if (info.version == 2) count_heads(info);
  return info;
}

void assume_sizes(RecordingInfo& info) {
  const auto assume = [&](std::int32_t& size, std::int32_t assumed) {
    if (size > 0) return;
    size = assumed;
    info.sizes_assumed = true;
  };
  for (LayerInfo& layer : info.recorded_layers) {
    assume(layer.key_size, kAssumedSize);
    assume(layer.value_size, kAssumedSize);
  }
  if (info.recorded_layers.empty()) {
    assume(info.key_size, kAssumedSize);
    assume(info.value_size, kAssumedSize);
  }
  assume(info.cache_element_bytes, kAssumedElementBytes);
}

v1::AttentionHeader header_of(const RecordingInfo& info) {
  v1::AttentionHeader header;
  header.set_version(wire(info.version));
  auto& model = *header.mutable_model();
  model.set_name(info.model);
  model.set_layers(wire(info.layers));
  model.set_query_heads(wire(info.query_heads));
  model.set_kv_heads(wire(info.kv_heads));
  // Assumed sizes are not facts about the recording, so they are not written.
  if (!info.sizes_assumed) {
    model.set_key_size(wire(info.key_size));
    model.set_value_size(wire(info.value_size));
    model.set_cache_element_bytes(wire(info.cache_element_bytes));
  }
  header.set_positions(info.positions);
  header.set_source(info.source);
  header.set_recorded_by(info.recorded_by);
  if (info.version == 1) {
    write_version_1(info, header);
  } else {
    write_version_2(info, header);
  }
  return header;
}

Result<attention::SequenceInfo> sequence_of(const v1::AttentionSequence& message) {
  attention::SequenceInfo out{.name = message.name(),
                              .tokens = message.tokens(),
                              .prompt_tokens = message.prompt_tokens(),
                              .complete = message.complete()};
  KVPLAN_TRY_DO(check_sequence(out, message.sequence()));
  if (!out.complete) out.tokens = 0;
  return out;
}

v1::AttentionSequence message_of(const attention::SequenceInfo& sequence, std::int32_t number) {
  v1::AttentionSequence out;
  out.set_name(sequence.name);
  out.set_prompt_tokens(static_cast<std::uint32_t>(sequence.prompt_tokens));
  out.set_sequence(wire(number));
  if (!sequence.complete) return out;
  out.set_tokens(static_cast<std::uint32_t>(sequence.tokens));
  out.set_complete(true);
  return out;
}

}  // namespace kvplan::io
