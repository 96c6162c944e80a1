#include "simulator/cli/list_entries.h"

#include <algorithm>

#include "simulator/cli/progress.h"
#include "simulator/cli/server_flag_output.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"

namespace kvplan::cli {
namespace {

std::string_view kind_name(ParamKind kind) {
  switch (kind) {
    case ParamKind::kInteger:
      return "integer";
    case ParamKind::kDecimal:
      return "decimal";
    case ParamKind::kFlag:
      return "flag";
    case ParamKind::kText:
      return "text";
  }
  return {};
}

std::string_view kind_name(runs::FieldKind kind) {
  switch (kind) {
    case runs::FieldKind::kText:
      return "text";
    case runs::FieldKind::kInteger:
      return "integer";
    case runs::FieldKind::kFraction:
      return "fraction";
    case runs::FieldKind::kSeconds:
      return "seconds";
    case runs::FieldKind::kPercentiles:
      return "percentiles";
    case runs::FieldKind::kComponent:
      return "component";
  }
  return {};
}

bool ranged(const Param& param) {
  return param.kind == ParamKind::kInteger || param.kind == ParamKind::kDecimal;
}

std::string lines_of(std::string_view text, const std::string& indent) {
  return indent + report::wrapped(std::string(text), output_width(), indent) + "\n";
}

std::string_view kind_name(model::CacheKind kind) {
  switch (kind) {
    case model::CacheKind::kHeads:
      return "heads";
    case model::CacheKind::kLatent:
      return "latent";
    case model::CacheKind::kNone:
      return "none";
  }
  return {};
}

void write_run(JsonWriter& json, const model::LayerRun& run) {
  const model::LayerCache& cache = run.cache;
  json.begin_object().member("layers", run.layers).member("kind", kind_name(cache.kind));
  json.member("heads", cache.heads).member("key_size", cache.key_size).member("value_size", cache.value_size);
  json.member("latent_size", cache.latent_size).member("rope_size", cache.rope_size);
  json.member("window", cache.window).member("chunked", cache.chunked);
  json.member("compress_ratio", cache.compress_ratio).member("indexer_bytes", cache.indexer_bytes);
  json.member("state_bytes", cache.state_bytes).end_object();
}

}  // namespace

std::string accepts(const Param& param) {
  if (param.kind == ParamKind::kFlag) return "true or false";
  if (param.kind == ParamKind::kText) {
    if (param.choices.empty()) return "text";
    std::string out = "one of ";
    for (std::size_t i = 0; i < param.choices.size(); ++i)
      out.append(i == 0 ? "" : ", ").append(param.choices[i]);
    return out;
  }
  std::string out = param.kind == ParamKind::kInteger ? "whole number" : "number";
  out += ", " + shortest(param.low) + " to " + shortest(param.high);
  if (param.unit != Unit::kNone) out.append(" ").append(unit_name(param.unit));
  return out;
}

std::string accepts(const runs::Field& field) {
  if (field.kind == runs::FieldKind::kComponent)
    return "a component: kvplan list " +
           std::string(field.family == runs::kWindowFormatFamily ? kKvFormat : field.family);
  if (field.kind == runs::FieldKind::kPercentiles)
    return "LATENCY.pN=SECONDS[,...], LATENCY one of ttft, tpot, e2e, queue, N above 0, at most 100";
  std::string out(kind_name(field.kind));
  if (field.kind == runs::FieldKind::kInteger)
    out = "whole number, " + std::to_string(field.low) + " to " + std::to_string(field.high);
  if (field.kind == runs::FieldKind::kFraction && field.high > 0)
    out += " above 0, at most " + std::to_string(field.high);
  if (field.unit != Unit::kNone && field.kind != runs::FieldKind::kSeconds)
    out.append(", ").append(unit_name(field.unit));
  return out;
}

std::string paging_of(const Descriptor& d) {
  for (const formats::FormatKind* kind : formats::formats())
    if (&kind->descriptor == &d) return formats::paging_text(*kind);
  return {};
}

void write_descriptor(JsonWriter& json, const Descriptor& d) {
  json.begin_object();
  json.member("family", d.family).member("name", d.name).member("summary", d.summary);
  json.member("source", d.source);
  json.key("spans");
  d.spans.empty() ? json.null() : json.value(d.spans);
  json.key("divergences");
  d.divergences.empty() ? json.null() : json.value(d.divergences);
  if (const std::string paging = paging_of(d); !paging.empty()) json.member("paging", paging);
  json.key("params").begin_array();
  for (const Param& p : d.params) {
    json.begin_object().member("name", p.name).member("help", p.help).member("kind", kind_name(p.kind));
    json.member("unit", unit_name(p.unit));
    json.key("default");
    p.fallback.empty() ? json.null() : json.value(p.fallback);
    json.key("low");
    ranged(p) ? json.value(p.low) : json.null();
    json.key("high");
    ranged(p) ? json.value(p.high) : json.null();
    json.key("choices").begin_array();
    for (const auto choice : p.choices) json.value(choice);
    json.end_array().end_object();
  }
  json.end_array();
  write_server_flags(json, d);
  json.end_object();
}

void write_field(JsonWriter& json, const runs::Field& field) {
  json.begin_object().member("family", kScenario).member("name", field.path).member("summary", field.help);
  json.member("kind", kind_name(field.kind)).member("unit", unit_name(field.unit));
  json.key("default");
  field.fallback.empty() ? json.null() : json.value(field.fallback);
  json.key("component_family");
  field.family.empty() ? json.null() : json.value(field.family);
  json.end_object();
}

void write_model(JsonWriter& json, const model::ModelShape& m) {
  json.begin_object().member("family", kModel).member("name", m.name).member("source", m.source);
  json.member("layers", m.layers).member("hidden", m.hidden).member("query_heads", m.query_heads);
  json.member("kv_heads", m.kv_heads).member("head_size", m.weight_shape.key_size);
  json.member("feed_forward", m.weight_shape.feed_forward).member("vocabulary", m.weight_shape.vocabulary);
  const auto weights = m.weights();
  json.key("parameters");
  weights.ok() ? json.value(weights.value().all) : json.null();
  json.key("parameters_per_token");
  weights.ok() ? json.value(weights.value().multiplied) : json.null();
  json.member("kv_token_bytes", m.kv_token_bytes()).member("window_layers", m.window_layers());
  json.key("runs").begin_array();
  for (const model::LayerRun& run : m.runs) write_run(json, run);
  json.end_array().end_object();
}

void write_device(JsonWriter& json, const model::DeviceShape& d) {
  json.begin_object().member("family", kDevice).member("name", d.name).member("title", d.title);
  json.member("vendor", d.vendor).member("architecture", d.architecture).member("memory", d.memory);
  json.member("note", d.note).key("aliases").begin_array();
  for (const std::string& alias : d.aliases) json.value(alias);
  json.end_array().key("figures").begin_object();
  for (std::size_t i = 0; i < model::kDeviceFigures; ++i) {
    const auto& figure = d.figures[i];
    json.key(model::figure_kind(static_cast<model::DeviceFigure>(i)).key);
    if (!figure) {
      json.null();
      continue;
    }
    json.begin_object().member("value", figure->value).member("mark", model::mark_name(figure->mark));
    json.member("source", figure->source).end_object();
  }
  json.end_object().end_object();
}

void write_importer(JsonWriter& json, const traces::Importer& importer) {
  json.begin_object().member("family", kTraceFormat).member("name", importer.name);
  json.member("summary", importer.summary).member("source", importer.source).end_object();
}

std::string descriptor_text(const Descriptor& d) {
  std::string out = std::string(d.name) + " (" + std::string(d.family) + ")\n";
  out += lines_of(d.summary, "  ") + lines_of("Source: " + std::string(d.source), "  ");
  if (!d.spans.empty()) out += lines_of(d.spans, "  ");
  if (const std::string paging = paging_of(d); !paging.empty()) out += lines_of(paging, "  ");
  if (!d.divergences.empty()) out += lines_of(d.divergences, "  ");
  for (const Param& p : d.params) {
    out += "\n  " + std::string(p.name) +
           (p.fallback.empty() ? std::string("  (must be given)") : " = " + std::string(p.fallback)) + "\n";
    out += lines_of(std::string(p.help) + ".", "    ") + lines_of(accepts(p), "    ");
  }
  if (d.params.empty()) out += "\n  no parameters\n";
  const std::vector<std::string> flags = server_flag_lines(d);
  if (!flags.empty()) out += "\n  flags of its server\n";
  for (const std::string& flag : flags) out += lines_of(flag, "    ");
  return out;
}

std::string field_text(const runs::Field& field) {
  std::string out = std::string(field.path) + " (scenario)\n" + lines_of(std::string(field.help) + ".", "  ");
  out += lines_of(accepts(field), "  ");
  out += field.fallback.empty() ? "  no default\n" : "  default: " + std::string(field.fallback) + "\n";
  return out;
}

std::vector<std::string> model_lines(const model::ModelShape& m) {
  using report::grouped;
  // Of the first layer that keeps something of each token.
  const auto keeps = std::find_if(m.runs.begin(), m.runs.end(), [](const model::LayerRun& run) {
    return run.cache.kind != model::CacheKind::kNone;
  });
  const model::LayerCache& cache = (keeps == m.runs.end() ? m.runs.front() : *keeps).cache;
  std::string shape = grouped(m.layers) + " layers of " + grouped(m.query_heads) + " query heads";
  shape +=
      cache.kind == model::CacheKind::kHeads
          ? " and " + grouped(cache.heads) + " KV heads of " + grouped(cache.key_size)
          : " on one latent vector of " + grouped(cache.latent_size) + " and " + grouped(cache.rope_size);
  shape += ", hidden " + grouped(m.hidden) + ", feed-forward " + grouped(m.weight_shape.feed_forward);
  if (m.weight_shape.experts > 0)
    shape += ", " + grouped(m.weight_shape.experts) + " experts of " +
             grouped(m.weight_shape.expert_feed_forward) + " (" + grouped(m.weight_shape.experts_per_token) +
             " per token)";
  shape += ", vocabulary " + grouped(m.weight_shape.vocabulary);
  std::vector<std::string> lines{shape};
  std::int64_t states = 0, state_bytes = 0, nothing = 0;
  for (const model::LayerRun& run : m.runs) {
    if (run.cache.kind == model::CacheKind::kNone && run.cache.state_bytes == 0) nothing += run.layers;
    if (run.cache.state_bytes > 0) states += run.layers;
    state_bytes += run.layers * run.cache.state_bytes;
  }
  if (states > 0)
    lines.push_back(grouped(states) + " of the layers keep a state of each sequence, " +
                    grouped(state_bytes) + " bytes together");
  if (nothing > 0) lines.push_back(grouped(nothing) + " of the layers keep nothing");
  if (m.window_layers() > 0) {
    std::int64_t window = 0;
    for (const model::LayerRun& run : m.runs) window = std::max(window, run.cache.window);
    lines.push_back(grouped(m.window_layers()) + " of the layers see a window of " + grouped(window) +
                    " tokens");
  }
  const auto weights = m.weights();
  lines.push_back((weights.ok() ? grouped(weights.value().all) + " parameters, " : std::string()) +
                  grouped(m.kv_token_bytes()) + " bytes of KV cache per token");
  return lines;
}

std::string other_names(const model::ModelShape& m) {
  std::string out;
  for (const std::string& alias : model::model_aliases(m))
    out += (out.empty() ? "Also used for these Hugging Face models: " : ", ") + alias;
  return out;
}

std::string model_text(const model::ModelShape& m) {
  std::string out = m.name + " (model)\n" + lines_of("Source: " + m.source, "  ");
  if (const std::string names = other_names(m); !names.empty()) out += lines_of(names, "  ");
  for (const std::string& line : model_lines(m)) out += lines_of(line, "  ");
  return out;
}

std::vector<FigureLines> figure_lines(const model::DeviceShape& d) {
  std::vector<FigureLines> lines;
  for (std::size_t i = 0; i < model::kDeviceFigures; ++i) {
    const auto& figure = d.figures[i];
    if (!figure) continue;
    const model::DeviceFigureKind& kind = model::figure_kind(static_cast<model::DeviceFigure>(i));
    std::string value = std::string(kind.key) + " = " + report::grouped(figure->value);
    if (kind.unit != Unit::kNone) value.append(" ").append(unit_name(kind.unit));
    if (kind.unit == Unit::kBytes)
      value += " (" + report::bytes_text(static_cast<double>(figure->value)) + ")";
    lines.push_back({std::move(value), std::string(kind.text) + ".",
                     std::string(model::mark_name(figure->mark)) + ": " + figure->source});
  }
  return lines;
}

std::string device_summary(const model::DeviceShape& d) {
  std::string out = d.title + ", " + d.memory + ", " + d.architecture + ". " + d.note;
  for (std::size_t i = 0; i < d.aliases.size(); ++i)
    out += (i == 0 ? " Also called " : ", ") + d.aliases[i] + (i + 1 == d.aliases.size() ? "." : "");
  return out;
}

std::string device_text(const model::DeviceShape& d) {
  std::string out = d.name + " (device)\n" + lines_of(device_summary(d), "  ");
  for (const FigureLines& figure : figure_lines(d))
    out += "\n  " + figure.value + "\n" + lines_of(figure.meaning, "    ") + lines_of(figure.source, "    ");
  return out;
}

std::string importer_text(const traces::Importer& importer) {
  return std::string(importer.name) + " (trace-format)\n" + lines_of(importer.summary, "  ") +
         lines_of("Source: " + std::string(importer.source), "  ");
}

}  // namespace kvplan::cli
