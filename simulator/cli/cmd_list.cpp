// kvplan list and kvplan explain: what a scenario can say, from the descriptors alone.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "simulator/base/json_writer.h"
#include "simulator/base/suggest.h"
#include "simulator/cli/combinations_output.h"
#include "simulator/cli/command.h"
#include "simulator/cli/markdown.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/server_flag_output.h"
#include "simulator/formats/formats.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/device_catalogue.h"
#include "simulator/readers/catalogue.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"
#include "simulator/scenario/scenario.h"
#include "traces/import/importer.h"
#include "traces/synth/synth.h"

namespace kvplan::cli {
namespace {

struct ListFlags {
  std::string name;
  bool json{false};
  std::string markdown;  ///< folder; empty: none
};

/// Families of other catalogues than the scenario's.
constexpr std::string_view kScenario = "scenario";
constexpr std::string_view kTraceFormat = "trace-format";
constexpr std::string_view kModel = "model";
constexpr std::string_view kKvFormat = "format";
constexpr std::string_view kDevice = "device";
constexpr std::string_view kReplacement = "replacement";
constexpr std::string_view kCodec = formats::kFamily;
constexpr std::string_view kBudgetFamily = "budget";

std::vector<std::string_view> all_families() {
  std::vector<std::string_view> out(plan::families().begin(), plan::families().end());
  out.push_back(kBudgetFamily);
  out.push_back(kCodec);
  out.push_back(kModel);
  out.push_back(kDevice);
  out.push_back(kScenario);
  out.push_back(kTraceFormat);
  const auto synth = traces::synth_families();
  out.insert(out.end(), synth.begin(), synth.end());
  return out;
}

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

std::string_view kind_name(plan::FieldKind kind) {
  switch (kind) {
    case plan::FieldKind::kText:
      return "text";
    case plan::FieldKind::kInteger:
      return "integer";
    case plan::FieldKind::kFraction:
      return "fraction";
    case plan::FieldKind::kSeconds:
      return "seconds";
    case plan::FieldKind::kPercentiles:
      return "percentiles";
    case plan::FieldKind::kComponent:
      return "component";
  }
  return {};
}

bool ranged(const Param& param) {
  return param.kind == ParamKind::kInteger || param.kind == ParamKind::kDecimal;
}

/// "whole number, 1 to 8192 tokens", "true or false", "one of a, b".
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

std::string accepts(const plan::Field& field) {
  if (field.kind == plan::FieldKind::kComponent)
    return "a component: kvplan list " +
           std::string(field.family == plan::kWindowFormatFamily ? kKvFormat : field.family);
  if (field.kind == plan::FieldKind::kPercentiles)
    return "LATENCY.pN=SECONDS[,...], LATENCY one of ttft, tpot, e2e, queue, N above 0, at most 100";
  std::string out(kind_name(field.kind));
  if (field.kind == plan::FieldKind::kInteger)
    out = "whole number, " + std::to_string(field.low) + " to " + std::to_string(field.high);
  if (field.kind == plan::FieldKind::kFraction && field.high > 0)
    out += " above 0, at most " + std::to_string(field.high);
  if (field.unit != Unit::kNone && field.kind != plan::FieldKind::kSeconds)
    out.append(", ").append(unit_name(field.unit));
  return out;
}

std::string lines_of(std::string_view text, const std::string& indent) {
  return indent + report::wrapped(std::string(text), output_width(), indent) + "\n";
}

/// For a codec; empty for other components.
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

void write_field(JsonWriter& json, const plan::Field& field) {
  json.begin_object().member("family", kScenario).member("name", field.path).member("summary", field.help);
  json.member("kind", kind_name(field.kind)).member("unit", unit_name(field.unit));
  json.key("default");
  field.fallback.empty() ? json.null() : json.value(field.fallback);
  json.key("component_family");
  field.family.empty() ? json.null() : json.value(field.family);
  json.end_object();
}

void write_run(JsonWriter& json, const model::LayerRun& run) {
  const model::LayerCache& cache = run.cache;
  const bool latent = cache.kind == model::CacheKind::kLatent;
  json.begin_object().member("layers", run.layers).member("kind", latent ? "latent" : "heads");
  json.member("heads", cache.heads).member("key_size", cache.key_size).member("value_size", cache.value_size);
  json.member("latent_size", cache.latent_size).member("rope_size", cache.rope_size);
  json.member("window", cache.window).end_object();
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

std::string field_text(const plan::Field& field) {
  std::string out = std::string(field.path) + " (scenario)\n" + lines_of(std::string(field.help) + ".", "  ");
  out += lines_of(accepts(field), "  ");
  out += field.fallback.empty() ? "  no default\n" : "  default: " + std::string(field.fallback) + "\n";
  return out;
}

/// Shape, windows, parameters and bytes, a sentence or part of one each.
std::vector<std::string> model_lines(const model::ModelShape& m) {
  using report::grouped;
  const model::LayerCache& cache = m.runs.front().cache;
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

/// "Taken for: A, B": repositories with the same model (modelfile/catalogue.h).
std::string other_names(const model::ModelShape& m) {
  std::string out;
  for (const std::string& alias : model::model_aliases(m))
    out += (out.empty() ? "Taken for: " : ", ") + alias;
  return out;
}

std::string model_text(const model::ModelShape& m) {
  std::string out = m.name + " (model)\n" + lines_of("Source: " + m.source, "  ");
  if (const std::string names = other_names(m); !names.empty()) out += lines_of(names, "  ");
  for (const std::string& line : model_lines(m)) out += lines_of(line, "  ");
  return out;
}

/// "bandwidth = 3,350,000,000,000 bytes/s", what that is, and from where.
struct FigureLines {
  std::string value, meaning, source;
};

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

/// What it is sold as, and its other names.
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

/// Calls `what` for each member of a family: (name, summary) for text, or writes it. Members of other families that a
/// scenario also accepts (codecs as its format) are included.
template <class Each>
void each_of(std::string_view family, Each each) {
  for (const Descriptor* d : plan::family_descriptors(family))
    if (d->family == family) each(d->name, d->summary, *d);
  for (const Descriptor* d : traces::synth_descriptors(family)) each(d->name, d->summary, *d);
  if (family == kCodec)
    for (const Descriptor* d : formats::format_descriptors()) each(d->name, d->summary, *d);
  if (family == kScenario)
    for (const plan::Field& field : plan::scenario_fields()) each(field.path, field.help, field);
  if (family == kModel)
    for (const model::ModelShape& m : model::models()) each(m.name, m.source, m);
  if (family == kDevice)
    for (const model::DeviceShape& d : model::devices()) each(d.name, d.title, d);
  if (family == kTraceFormat)
    for (const traces::Importer* importer : traces::importers())
      each(importer->name, importer->summary, *importer);
}

struct WriteJson {
  JsonWriter& json;
  void operator()(const Descriptor& d) const { write_descriptor(json, d); }
  void operator()(const plan::Field& field) const { write_field(json, field); }
  void operator()(const model::ModelShape& m) const { write_model(json, m); }
  void operator()(const model::DeviceShape& d) const { write_device(json, d); }
  void operator()(const traces::Importer& importer) const { write_importer(json, importer); }
};

struct ToText {
  std::string operator()(const Descriptor& d) const { return descriptor_text(d); }
  std::string operator()(const plan::Field& field) const { return field_text(field); }
  std::string operator()(const model::ModelShape& m) const { return model_text(m); }
  std::string operator()(const model::DeviceShape& d) const { return device_text(d); }
  std::string operator()(const traces::Importer& importer) const { return importer_text(importer); }
};

/// What a page of a family says of a member, under its name.
struct ToPage {
  std::string operator()(const Descriptor& d) const {
    std::string out = paragraph(d.summary) + source(d.source);
    if (!d.spans.empty()) out += paragraph(d.spans);
    if (const std::string paging = paging_of(d); !paging.empty()) out += paragraph(paging);
    if (!d.divergences.empty()) out += paragraph(d.divergences);
    for (const Param& p : d.params) {
      const std::string fallback =
          p.fallback.empty() ? "must be given" : "default `" + std::string(p.fallback) + "`";
      out += markdown_item("`" + std::string(p.name) + "`: " + markdown_escaped(p.help) + " (" +
                           markdown_escaped(accepts(p)) + "; " + fallback + ").");
    }
    out += d.params.empty() ? "No parameters.\n\n" : "\n";
    const std::vector<std::string> flags = server_flag_lines(d);
    if (flags.empty()) return out;
    out += markdown_paragraph("Flags of its server:");
    for (const std::string& flag : flags) out += markdown_item(markdown_escaped(flag) + ".");
    return out + "\n";
  }
  std::string operator()(const plan::Field& field) const {
    const std::string fallback =
        field.fallback.empty() ? "no default" : "default `" + std::string(field.fallback) + "`";
    return paragraph(field.help) +
           markdown_paragraph("Accepts: " + markdown_escaped(accepts(field)) + "; " + fallback + ".");
  }
  std::string operator()(const model::ModelShape& m) const {
    std::string out = source(m.source);
    if (const std::string names = other_names(m); !names.empty()) out += paragraph(names);
    for (const std::string& line : model_lines(m)) out += markdown_item(markdown_escaped(line) + ".");
    return out + "\n";
  }
  std::string operator()(const model::DeviceShape& d) const {
    std::string out = paragraph(device_summary(d));
    for (const FigureLines& figure : figure_lines(d))
      out += markdown_item("`" + figure.value +
                           "`: " + markdown_escaped(figure.meaning + " " + figure.source) + ".");
    return out + "\n";
  }
  std::string operator()(const traces::Importer& importer) const {
    return paragraph(importer.summary) + source(importer.source);
  }
  /// Some texts end in a full stop, some have none.
  [[nodiscard]] static std::string paragraph(std::string_view text) {
    return markdown_paragraph(markdown_escaped(text) + (text.ends_with('.') ? "" : "."));
  }
  [[nodiscard]] static std::string source(std::string_view text) {
    return paragraph("Source: " + std::string(text));
  }
};

constexpr std::string_view kMadeBy =
    "Made by `kvplan list --markdown simulator/docs/components`, from the descriptors; do not edit.";

/// Where a member of the family is named.
std::string family_use(std::string_view family) {
  if (family == kScenario) return "Paths of a scenario, for files and `--set`.";
  if (family == kKvFormat)
    return "Used as `format` of a scenario and as `kvplan bytes --format`; for layers with a sliding window "
           "as `window_format` and `--window-format`. A scenario also accepts members of family codec "
           "(codec.md).";
  if (family == kBudgetFamily)
    return "Used as `kvplan budget --policy`, as `--budget` of `kvplan evict` and `kvplan frontier`, and as "
           "`budget` of a scenario.";
  if (family == kCodec)
    return "Used as `kvplan format --format`, `kvplan bytes --format` and `kvplan frontier --formats`; the "
           "last two also take them as `--window-format` for layers with a sliding window. A scenario takes "
           "them as `format` and `window_format`; a name that family format has too means that family there.";
  if (family == readers::kFamily)
    return "Used as `kvplan attention read --reader`. A scenario's `reader` accepts the members with a "
           "number of read tokens that follows from lengths.";
  if (family == kReplacement)
    return "Used as `memory.replacement` of a scenario and as `kvplan cache --replacement`.";
  if (family == kDevice) return "Used as `deployment.device` of a scenario and as `kvplan pool --device`.";
  const auto synth = traces::synth_families();
  if (std::find(synth.begin(), synth.end(), family) != synth.end())
    return "Used as `kvplan trace synth --" + std::string(family) + "`.";
  std::string out;
  for (const plan::Field& field : plan::scenario_fields())
    if (field.family == family || field.path == family ||
        (family == kTraceFormat && field.path == "workload.format"))
      out += (out.empty() ? "Used as `" : " and as `") + std::string(field.path) + "`";
  return out.empty() ? out : out + " of a scenario.";
}

/// One page for each family, and an index page if all families are written.
Status write_pages(const ListFlags& flags, const std::vector<std::string_view>& chosen) {
  std::error_code failed;
  std::filesystem::create_directories(flags.markdown, failed);
  if (failed) return bad_input("cannot create the folder: " + failed.message()).at_file(flags.markdown);
  Outputs outputs;
  std::string index = "# Components\n\n" + markdown_paragraph(std::string(kMadeBy));
  for (const auto family : chosen) {
    std::string page = "# " + std::string(family) + "\n\n" + markdown_paragraph(std::string(kMadeBy));
    const std::string use = family_use(family);
    if (!use.empty()) page += markdown_paragraph(use);
    std::string names;
    each_of(family, [&](std::string_view name, const auto&, const auto& member) {
      page += "## " + std::string(name) + "\n\n" + ToPage{}(member);
      names += (names.empty() ? "`" : ", `") + std::string(name) + "`";
    });
    page.pop_back();  // removes one of the two line ends of the last paragraph
    const std::string file = std::string(family) + ".md";
    KVPLAN_TRY_DO(outputs.add(flags.markdown + "/" + file, page));
    index +=
        markdown_item(std::string("[").append(family).append("](").append(file).append("): ").append(names));
  }
  if (flags.name.empty()) KVPLAN_TRY_DO(outputs.add(flags.markdown + "/README.md", index));
  return outputs.commit();
}

/// A row for each member: its name and what it is.
std::string members_of(std::string_view family) {
  report::Table table{.title = std::string(family), .columns = {""}, .rows = {}, .numbers = false};
  each_of(family, [&](std::string_view name, std::string_view summary, const auto&) {
    table.rows.push_back({.label = std::string(name), .cells = {std::string(summary)}});
  });
  return report::table_text(table, output_width()) + "\nkvplan explain NAME shows the details of one.\n";
}

/// A row for each family: the names of its members.
std::string overview_of(const std::vector<std::string_view>& families) {
  report::Table table{.title = "Families and their members", .columns = {""}, .rows = {}, .numbers = false};
  for (const auto family : families) {
    std::string names;
    each_of(family, [&](std::string_view name, const auto&, const auto&) {
      names.append(names.empty() ? "" : ", ").append(name);
    });
    table.rows.push_back({.label = std::string(family), .cells = {std::move(names)}});
  }
  return report::table_text(table, output_width()) +
         "\nkvplan list FAMILY says what each member is; kvplan explain NAME says what it accepts.\n";
}

Status list(const ListFlags& flags) {
  if (flags.name == kCombinations) {
    if (!flags.markdown.empty())
      return bad_input("expected a family for --markdown, found " + flags.name).at_field("family");
    return write_text("-", flags.json ? combinations_json() : combinations_text());
  }
  const std::vector<std::string_view> known = all_families();
  std::vector<std::string_view> chosen = known;
  if (!flags.name.empty()) {
    if (std::find(known.begin(), known.end(), flags.name) == known.end())
      return bad_input(unknown_name("family", flags.name, known));
    chosen = {flags.name};
  }
  if (!flags.markdown.empty()) return write_pages(flags, chosen);
  if (flags.json) {
    JsonWriter json;
    json.begin_object().key("components").begin_array();
    for (const auto family : chosen)
      each_of(family, [&](const auto&, const auto&, const auto& member) { WriteJson{json}(member); });
    json.end_array().end_object();
    return write_text("-", json.take());
  }
  return write_text("-", flags.name.empty() ? overview_of(chosen) : members_of(flags.name));
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out.append(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ").append(names[i]);
  return out;
}

Status explain(const ListFlags& flags) {
  std::string text;
  JsonWriter json;
  json.begin_object().key("components").begin_array();
  std::vector<std::string_view> names;
  bool found = false;
  std::string_view wanted = flags.name;
  // An alias of a device or a model is a name too.
  if (const auto device = model::find_device(flags.name); device.ok()) wanted = device.value()->name;
  if (const auto shape = model::find_model(flags.name); shape.ok()) wanted = shape.value()->name;
  for (const auto family : all_families()) {
    each_of(family, [&](std::string_view name, const auto&, const auto& member) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      if (name != wanted) return;
      found = true;
      text += (text.empty() ? "" : "\n") + ToText{}(member);
      WriteJson{json}(member);
    });
  }
  const auto families = all_families();
  const bool is_family = std::find(families.begin(), families.end(), flags.name) != families.end();
  if (!found && is_family) return list(flags);
  if (!found) {
    std::string error = unknown_name_of_many("name", flags.name, names, "kvplan list shows all of them");
    if (const std::string hint = model::model_hint(flags.name); !hint.empty())
      error += ". As a model: " + hint;
    return bad_input(std::move(error));
  }
  if (is_family)
    text += "\n" + flags.name + " is also the name of a family: kvplan list " + flags.name +
            " lists its members.\n";
  json.end_array().end_object();
  return write_text("-", flags.json ? json.take() : text);
}

}  // namespace

void add_list(Command& app, Outcome& outcome) {
  auto flags = std::make_shared<ListFlags>();
  Command* const list_command = app.add_subcommand(
      "list", "List components, models, devices, scenario paths and trace formats by family");
  list_command->add_option("family", flags->name,
                           "One of " + joined(all_families()) + "; without it, all families are listed. `" +
                               std::string(kCombinations) + "`: which choices of a scenario work together");
  Option* const as_json = list_command->add_flag("--json", flags->json, "JSON on standard output");
  list_command
      ->add_option("--markdown", flags->markdown, "Write one Markdown page per family into this folder")
      ->excludes(as_json);
  run_as(*list_command, outcome, [flags] { return list(*flags); });

  Command* const explain_command = app.add_subcommand(
      "explain", "Explain a component, model, device, scenario path or trace format, and its parameters");
  explain_command
      ->add_option("name", flags->name,
                   "Name as `kvplan list` prints it. The name of a family lists its members, unless "
                   "something else has the same name")
      ->required();
  explain_command->add_flag("--json", flags->json, "JSON on standard output");
  run_as(*explain_command, outcome, [flags] { return explain(*flags); });
}

}  // namespace kvplan::cli
