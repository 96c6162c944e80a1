// kvplan attention info|convert: look at recordings of attention, store rows as .kva.
#include <CLI/CLI.hpp>
#include <memory>

#include "simulator/attention/recording.h"
#include "simulator/base/json_writer.h"
#include "simulator/base/number_input.h"
#include "simulator/cli/command.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/io/attention_json.h"
#include "simulator/io/kva_writer.h"
#include "traces/io/output.h"

namespace kvplan::cli {
namespace {

using attention::Element;
using attention::RecordedForm;
using attention::RecordingInfo;

std::string_view form_name(RecordedForm form) {
  if (form == RecordedForm::kDenseRows) return "dense rows";
  return form == RecordedForm::kTopEntries ? "top entries" : "tensors";
}
std::string_view element_name(Element element) {
  constexpr std::string_view kNames[] = {"f64", "f32", "f16", "bf16"};
  return kNames[static_cast<std::size_t>(element)];
}

struct InfoOptions {
  std::string input;
  std::string json;
};

std::string info_json(const RecordingInfo& info) {
  JsonWriter json;
  json.begin_object().key("model").begin_object();
  json.member("name", info.model).member("layers", info.layers).member("query_heads", info.query_heads);
  json.member("kv_heads", info.kv_heads).member("key_size", info.key_size);
  json.member("value_size", info.value_size).member("cache_element_bytes", info.cache_element_bytes);
  json.member("sizes_assumed", info.sizes_assumed).end_object();
  json.member("form", form_name(info.form)).member("element", element_name(info.element));
  json.member("has_values", info.has_values).member("positions", info.positions);
  json.member("source", info.source).member("recorded_by", info.recorded_by);
  json.key("sequences").begin_array();
  for (const auto& sequence : info.sequences)
    json.begin_object()
        .member("name", sequence.name)
        .member("tokens", sequence.tokens)
        .member("prompt_tokens", sequence.prompt_tokens)
        .end_object();
  json.end_array().end_object();
  return json.take();
}

/// Text of a file, harmless to a terminal.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text;
}

std::string info_text(const RecordingInfo& info) {
  constexpr std::size_t kShown = 20;
  std::string out = "model      " + (info.model.empty() ? "not named" : printable(info.model)) + ", " +
                    std::to_string(info.layers) + " layers, " + std::to_string(info.query_heads) +
                    " query heads on " + std::to_string(info.kv_heads) + " KV heads\n";
  out += "stored as  " + std::string(form_name(info.form)) + ", " + std::string(element_name(info.element)) +
         (info.has_values ? ", with values" : "") + "\n";
  const auto add = [&](std::string_view what, const std::string& text) {
    if (!text.empty()) out.append(what).append(printable(text)).append("\n");
  };
  add("positions  ", info.positions);
  add("source     ", info.source);
  add("recorded   ", info.recorded_by);
  out += "sequences  " + std::to_string(info.sequences.size()) + "\n";
  for (std::size_t i = 0; i < info.sequences.size() && i < kShown; ++i) {
    const auto& sequence = info.sequences[i];
    out += "  " + std::to_string(i) + ": " + std::to_string(sequence.tokens) + " tokens";
    if (sequence.prompt_tokens > 0) out += ", of them " + std::to_string(sequence.prompt_tokens) + " prompt";
    out += (sequence.name.empty() ? "" : " (" + printable(sequence.name) + ")") + "\n";
  }
  return out;
}

Status run_info(const InfoOptions& options) {
  KVPLAN_TRY_DO(check_apart({options.input}, {options.json}));
  KVPLAN_TRY(const auto recording, io::open_attention(options.input));
  if (options.json.empty()) return write_text("-", info_text(recording->info()));
  return write_text(options.json, info_json(recording->info()));
}

struct ConvertOptions {
  std::string input;
  std::string output;
  std::string element{"f64"};
  std::int64_t top{0};
};

Status run_convert(const ConvertOptions& options) {
  KVPLAN_TRY_DO(check_apart({options.input}, {options.output}));
  constexpr std::string_view kElements[] = {"f64", "f32", "f16"};
  std::size_t element = 0;
  while (element < 3 && kElements[element] != options.element) ++element;
  if (element == 3) return not_expected("f64, f32 or f16", options.element).at_field("--element");
  KVPLAN_TRY(const auto recording, io::open_attention(options.input));
  if (recording->info().form == RecordedForm::kTensors)
    return bad_input("holds tensors, from which rows are exact: there is nothing to convert")
        .at_file(options.input);
  KVPLAN_TRY(const std::unique_ptr<Output> out, traces::create_output(options.output));
  const auto sink = [&](std::string_view bytes) -> Status {
    if (interrupted()) return interrupted_error();
    return out->write(bytes);
  };
  KVPLAN_TRY_DO(
      io::write_kva(*recording, static_cast<Element>(element), options.top, io::Codec::kZstd, sink));
  return out->commit();
}

}  // namespace

void add_attention(CLI::App& app, Outcome& outcome) {
  CLI::App* const attention = app.add_subcommand("attention", "Inspect and convert recordings of attention");
  attention->require_subcommand(1);

  auto info = std::make_shared<InfoOptions>();
  CLI::App* const show = attention->add_subcommand("info", "What a recording holds");
  show->add_option("INPUT", info->input, "A .kva recording, or attention rows as JSON")->required();
  add_json_option(*show, info->json, "the result");
  run_as(*show, outcome, [info] { return run_info(*info); });

  auto convert = std::make_shared<ConvertOptions>();
  CLI::App* const store = attention->add_subcommand("convert", "Store attention rows as .kva");
  store->add_option("INPUT", convert->input, "Attention rows: JSON or .kva")->required();
  store->add_option("-o,--output", convert->output, "The .kva file to write")->required();
  store->add_option("--element", convert->element, "Number format: f64 (exact), f32 or f16")
      ->capture_default_str();
  add_whole_number(*store, "--top", convert->top, {0, INT32_MAX},
                   "Keep only the largest weights of each row, and the rest's mass; 0 = all");
  run_as(*store, outcome, [convert] { return run_convert(*convert); });
}

}  // namespace kvplan::cli
