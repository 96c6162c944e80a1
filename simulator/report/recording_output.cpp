#include "simulator/report/recording_output.h"

#include <vector>

#include "simulator/base/json_writer.h"

namespace kvplan::report {
namespace {

using attention::Element;
using attention::LayerInfo;
using attention::Part;
using attention::RecordedForm;
using attention::Recording;
using attention::RecordingInfo;
using attention::Rotary;

std::string_view form_name(RecordedForm form) {
  if (form == RecordedForm::kDenseRows) return "dense rows";
  return form == RecordedForm::kTopEntries ? "top entries" : "tensors";
}
std::string_view element_name(Element element) {
  constexpr std::string_view kNames[] = {"f64", "f32", "f16", "bf16", "u8", "u32"};
  return kNames[static_cast<std::size_t>(element)];
}

/// Text of a file, with control characters replaced, so that it is harmless to a terminal.
std::string harmless(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text;
}

void write_numbers(JsonWriter& json, std::string_view key, const std::vector<double>& numbers) {
  json.key(key).begin_array();
  for (const double number : numbers) json.value(number);
  json.end_array();
}

void write_rotary(JsonWriter& json, const std::optional<Rotary>& rotary) {
  json.key("rotary");
  if (!rotary) {
    json.null();
    return;
  }
  const bool halves = rotary->layout == attention::RotaryLayout::kHalves;
  json.begin_object().member("layout", halves ? "halves" : "interleaved");
  json.member("first", rotary->first).member("dims", rotary->dims).member("amplitude", rotary->amplitude);
  json.key("frequencies").begin_array();
  for (std::int32_t pair = 0; pair < rotary->dims / 2; ++pair) json.value(rotary->frequency(pair));
  json.end_array().end_object();
}

void write_layer(JsonWriter& json, const LayerInfo& layer) {
  json.begin_object().member("layer", layer.layer).key("parts").begin_array();
  for (std::uint32_t part = 1; part <= attention::kLastPart; ++part)
    if (layer.parts.has(static_cast<Part>(part))) json.value(part_name(static_cast<Part>(part)));
  json.end_array();
  json.member("query_heads", layer.model_query_heads).member("kv_heads", layer.model_kv_heads);
  json.key("recorded_kv_heads").begin_array();
  for (std::int32_t head = 0; head < layer.kv_heads; ++head) json.value(layer.model_kv_head(head));
  json.end_array().member("key_size", layer.key_size).member("value_size", layer.value_size);
  json.member("logit_scale", layer.logit_scale).member("window", layer.window);
  json.member("soft_cap", layer.soft_cap);
  write_numbers(json, "sink_logits", layer.sink_logits);
  write_numbers(json, "bias_slopes", layer.bias_slopes);
  write_rotary(json, layer.rotary);
  json.end_object();
}

/// Writes the values that only files of version 2 have.
void write_version_2(JsonWriter& json, const RecordingInfo& info) {
  json.member("hidden_size", info.hidden_size);
  json.member("recorder", info.recorder).member("recorder_version", info.recorder_version);
  json.member("machine", info.machine).member("model_digest", info.model_digest);
  json.key("parts").begin_array();
  for (const attention::StoredPart& stored : info.stored)
    json.begin_object()
        .member("part", part_name(stored.part))
        .member("element", element_name(stored.element))
        .end_object();
  json.end_array().key("token_classes").begin_array();
  for (const std::string& name : info.token_classes) json.value(name);
  json.end_array().key("layers").begin_array();
  for (const LayerInfo& layer : info.recorded_layers) write_layer(json, layer);
  json.end_array().key("cut");
  info.cut.empty() ? json.null() : json.value(info.cut);
}

std::string length_text(const Recording& recording, std::int32_t sequence) {
  const auto& is = recording.info().sequences[static_cast<std::size_t>(sequence)];
  std::string out = std::to_string(is.tokens) + " tokens";
  if (is.prompt_tokens > 0) out += ", of them " + std::to_string(is.prompt_tokens) + " prompt";
  return out + (is.complete ? "" : ", not complete");
}

std::string parts_text(const LayerInfo& layer) {
  std::string out;
  for (std::uint32_t part = 1; part <= attention::kLastPart; ++part)
    if (layer.parts.has(static_cast<Part>(part)))
      out += (out.empty() ? "" : ", ") + std::string(part_name(static_cast<Part>(part)));
  return out;
}

std::string layer_text(const LayerInfo& layer) {
  std::string out = parts_text(layer) + "; " + std::to_string(layer.model_query_heads) + " query heads on " +
                    std::to_string(layer.model_kv_heads) + " KV heads";
  if (!layer.recorded_kv_heads.empty())
    out += ", recorded " + attention::ranges_text(layer.recorded_kv_heads);
  if (layer.window > 0) out += "; window " + std::to_string(layer.window);
  if (layer.soft_cap > 0) out += "; soft cap " + shortest(layer.soft_cap);
  if (!layer.sink_logits.empty()) out += "; sinks";
  if (!layer.bias_slopes.empty()) out += "; position bias (ALiBi)";
  if (layer.rotary) out += "; rotated " + std::to_string(layer.rotary->dims) + " elements";
  return out;
}

/// Groups of equal layers.
std::string layers_text(const RecordingInfo& info) {
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> groups;
  for (const LayerInfo& layer : info.recorded_layers) {
    const std::string text = layer_text(layer);
    if (groups.empty() || groups.back().first != text) groups.push_back({text, {}});
    groups.back().second.push_back(layer.layer);
  }
  std::string out;
  for (const auto& [text, numbers] : groups)
    out += "layers     " + attention::ranges_text(numbers) + ": " + text + "\n";
  return out;
}

}  // namespace

std::string recording_json(const Recording& recording) {
  const RecordingInfo& info = recording.info();
  JsonWriter json;
  json.begin_object().key("model").begin_object();
  json.member("name", info.model).member("layers", info.layers).member("query_heads", info.query_heads);
  json.member("kv_heads", info.kv_heads).member("key_size", info.key_size);
  json.member("value_size", info.value_size).member("cache_element_bytes", info.cache_element_bytes);
  json.member("sizes_assumed", info.sizes_assumed).end_object();
  json.member("version", info.version).member("form", form_name(info.form));
  if (info.version == 1) json.member("element", element_name(info.element));
  json.member("has_values", info.has_values).member("positions", info.positions);
  json.member("source", info.source).member("recorded_by", info.recorded_by);
  if (info.version > 1) write_version_2(json, info);
  json.key("sequences").begin_array();
  for (const auto& sequence : info.sequences) {
    json.begin_object().member("name", sequence.name).member("tokens", sequence.tokens);
    json.member("prompt_tokens", sequence.prompt_tokens);
    if (info.version > 1) json.member("complete", sequence.complete);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

std::string recording_text(const Recording& recording) {
  constexpr std::int32_t kShown = 20;
  const RecordingInfo& info = recording.info();
  std::string out = "model      " + (info.model.empty() ? "not named" : harmless(info.model)) + ", " +
                    std::to_string(info.layers) + " layers, " + std::to_string(info.query_heads) +
                    " query heads on " + std::to_string(info.kv_heads) + " KV heads\n";
  if (info.version == 1) {
    out += "stored as  " + std::string(form_name(info.form)) + ", " +
           std::string(element_name(info.element)) + (info.has_values ? ", with values" : "") + "\n";
  } else {
    out += "stored as ";
    for (const attention::StoredPart& stored : info.stored)
      out += std::string(&stored == info.stored.data() ? " " : ", ") + std::string(part_name(stored.part)) +
             " " + std::string(element_name(stored.element));
    out += "\n" + layers_text(info);
  }
  const auto add = [&](std::string_view what, const std::string& text) {
    if (!text.empty()) out.append(what).append(harmless(text)).append("\n");
  };
  std::string classes;
  for (const std::string& name : info.token_classes) classes += (classes.empty() ? "" : ", ") + name;
  add("classes    ", classes);
  add("positions  ", info.positions);
  add("source     ", info.source);
  add("recorded   ", info.recorded_by);
  add("recorder   ", info.recorder + (info.recorder_version.empty() ? "" : " " + info.recorder_version));
  add("machine    ", info.machine);
  add("digest     ", info.model_digest);
  add("cut        ", info.cut);
  const auto sequences = static_cast<std::int32_t>(info.sequences.size());
  out += "sequences  " + std::to_string(sequences) + "\n";
  for (std::int32_t i = 0; i < sequences && i < kShown; ++i) {
    const std::string& name = info.sequences[static_cast<std::size_t>(i)].name;
    out += "  " + std::to_string(i) + ": " + length_text(recording, i) +
           (name.empty() ? "" : " (" + harmless(name) + ")") + "\n";
  }
  return out;
}

}  // namespace kvplan::report
