// kvplan attention info|analyse|plot|read|convert: look at recordings of attention, store rows as .kva.
#include <memory>

#include "simulator/attention/recording.h"
#include "simulator/base/json_writer.h"
#include "simulator/base/number_input.h"
#include "simulator/cli/attention_plot_command.h"
#include "simulator/cli/attention_read_command.h"
#include "simulator/cli/command.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/recording_input.h"
#include "simulator/formats/analysis.h"
#include "simulator/io/kva_writer.h"
#include "simulator/report/recording_output.h"
#include "traces/io/output.h"

namespace kvplan::cli {
namespace {

using attention::Element;
using attention::RecordedForm;

struct InfoOptions {
  std::string input;
  std::string json;
};

Status run_info(const InfoOptions& options) {
  KVPLAN_TRY_DO(check_apart({options.input}, {options.json}));
  KVPLAN_TRY(const auto recording, open_recording(options.input));
  if (options.json.empty()) return write_text("-", report::recording_text(*recording));
  return write_text(options.json, report::recording_json(*recording));
}

struct AnalyseOptions {
  std::string input;
  std::string json;
  formats::AnalysisRequest request;
};

void write_spectrum(JsonWriter& json, const std::optional<formats::Spectrum>& spectrum) {
  json.key("effective_rank");
  spectrum ? json.value(spectrum->effective_rank) : json.null();
  json.key("stable_rank");
  spectrum ? json.value(spectrum->stable_rank) : json.null();
}

void write_tensors(JsonWriter& json, std::string_view key,
                   const std::vector<formats::TensorSpectrum>& heads) {
  json.key(key);
  if (heads.empty()) {
    json.null();
    return;
  }
  json.begin_array();
  for (const formats::TensorSpectrum& head : heads) {
    json.begin_object();
    write_spectrum(json, head.spectrum);
    json.key("singular_values").begin_array();
    for (const double value : head.singular_values) json.value(value);
    json.end_array().key("spectral_tail").begin_object();
    for (const auto& tail : head.tails) json.member(std::to_string(tail.rank), tail.relative);
    json.end_object().end_object();
  }
  json.end_array();
}

std::string analysis_json(const AnalyseOptions& options, const formats::Analysis& found) {
  JsonWriter json(0);
  json.begin_object().key("params").begin_object();
  json.member("energy", options.request.energy).member("threshold", options.request.threshold).end_object();
  json.member("input", options.input);
  json.member("sequence", options.request.sequence).member("layer", options.request.layer);
  json.member("class", "tolerance");
  write_tensors(json, "K", found.tensors[0]);
  write_tensors(json, "V", found.tensors[1]);
  json.key("attention").begin_array();
  for (const formats::AttentionStructure& head : found.attention) {
    json.begin_object();
    write_spectrum(json, head.spectrum);
    json.member("sparsity_full", head.sparsity_full).member("sparsity_causal", head.sparsity_causal);
    json.member("mean_entropy", head.mean_entropy)
        .member("mean_relative_entropy", head.mean_relative_entropy);
    json.member("sink_mass", head.sink_mass).end_object();
  }
  json.end_array().key("monitor");
  if (found.monitor) {
    json.begin_object().member("original_bytes_fp32", found.monitor->original_bytes);
    json.member("seed_estimate_bytes", found.monitor->estimate_bytes);
    json.member("seed_ratio", found.monitor->ratio).end_object();
  } else {
    json.null();
  }
  json.member("min_margin", found.min_margin).end_object();
  return json.take();
}

std::string analysis_text(const AnalyseOptions& options, const formats::Analysis& found) {
  char text[160];
  std::string out;
  for (std::size_t side = 0; side < 2; ++side)
    for (std::size_t h = 0; h < found.tensors[side].size(); ++h) {
      const formats::TensorSpectrum& head = found.tensors[side][h];
      std::snprintf(text, sizeof(text), "%s of head %zu: effective rank %lld, stable rank %.3f",
                    side == 0 ? "keys" : "values", h, static_cast<long long>(head.spectrum.effective_rank),
                    head.spectrum.stable_rank);
      out += text;
      for (const auto& tail : head.tails) {
        std::snprintf(text, sizeof(text), ", error at rank %lld: %.3f", static_cast<long long>(tail.rank),
                      tail.relative);
        out += text;
      }
      out += "\n";
    }
  std::snprintf(text, sizeof(text), "%s%5s %9s %9s %9s %9s %9s\n", out.empty() ? "" : "\n", "head", "rank",
                "sparse", "entropy", "of most", "sinks");
  out += text;
  for (std::size_t h = 0; h < found.attention.size(); ++h) {
    const formats::AttentionStructure& head = found.attention[h];
    std::snprintf(text, sizeof(text), "%5zu %9s %8.1f%% %9.3f %9.3f %9.3f\n", h,
                  head.spectrum ? std::to_string(head.spectrum->effective_rank).c_str() : "-",
                  100 * head.sparsity_causal, head.mean_entropy, head.mean_relative_entropy.value_or(0),
                  head.sink_mass.value_or(0));
    out += text;
  }
  std::snprintf(text, sizeof(text),
                "\nThe ranks hold %s of the energy. Sparse means causal weights at or below %s.\n",
                shortest(options.request.energy).c_str(), shortest(options.request.threshold).c_str());
  out += text;
  if (!found.attention.empty() && !found.attention.front().spectrum)
    out += "Attention ranks are computed only for sequences of up to " +
           std::to_string(formats::kMostRankTokens) + " tokens.\n";
  return out;
}

Status run_analyse(const AnalyseOptions& options) {
  KVPLAN_TRY_DO(check_apart({options.input}, {options.json}));
  KVPLAN_TRY(const auto recording, open_recording(options.input));
  KVPLAN_TRY(const formats::Analysis found, formats::analyse(*recording, options.request, []() -> Status {
               if (interrupted()) return interrupted_error();
               return Done{};
             }));
  if (options.json.empty()) return write_text("-", analysis_text(options, found));
  return write_text(options.json, analysis_json(options, found));
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
  KVPLAN_TRY(const auto recording, open_recording(options.input));
  if (recording->info().version > 1)
    return bad_input("recording has version 2 with more than attention rows; this command stores rows only")
        .at_file(options.input);
  if (recording->info().form == RecordedForm::kTensors)
    return bad_input("recording holds tensors, from which rows are computed exactly: no conversion is needed")
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

void add_attention(Command& app, Outcome& outcome) {
  Command* const attention = app.add_subcommand(
      "attention", "Inspect, plot and convert attention recordings, and evaluate sparse attention on them");
  attention->require_subcommand();

  auto info = std::make_shared<InfoOptions>();
  Command* const show = attention->add_subcommand("info", "Show what a recording holds");
  show->add_option("INPUT", info->input, "A .kva recording, or attention rows as JSON")->required();
  add_json_option(*show, info->json, "the result");
  run_as(*show, outcome, [info] { return run_info(*info); });

  auto analyse = std::make_shared<AnalyseOptions>();
  Command* const look = attention->add_subcommand(
      "analyse",
      "Compute ranks of keys, values and attention of a layer, and sparsity, entropy and sinks of its rows");
  look->add_option("INPUT", analyse->input,
                   "A .kva recording, attention rows as JSON, or a JSON file that names raw tensor files")
      ->required();
  add_number(*look, "--energy", analyse->request.energy, {0, 1},
             "Share of the sum of squared singular values that the effective rank must hold");
  add_number(*look, "--threshold", analyse->request.threshold, {0, 1},
             "Weights at or below this value count as zero");
  add_whole_number(*look, "--sequence", analyse->request.sequence, {0, INT32_MAX}, "Index of the sequence");
  add_whole_number(*look, "--layer", analyse->request.layer, {0, INT32_MAX}, "Index of the layer");
  add_json_option(*look, analyse->json, "the result");
  run_as(*look, outcome, [analyse] { return run_analyse(*analyse); });

  add_attention_plot(*attention, outcome);
  add_attention_read(*attention, outcome);

  auto convert = std::make_shared<ConvertOptions>();
  Command* const store = attention->add_subcommand("convert", "Store attention rows as .kva");
  store->add_option("INPUT", convert->input, "Attention rows, as JSON or .kva")->required();
  store->add_option("-o,--output", convert->output, "The .kva file to write")->required();
  store->add_option("--element", convert->element, "Number format: f64 (exact), f32 or f16")
      ->capture_default_str();
  add_whole_number(
      *store, "--top", convert->top, {0, INT32_MAX},
      "Keep only this many of the largest weights of each row, and the sum of the others; 0 = keep all");
  run_as(*store, outcome, [convert] { return run_convert(*convert); });
}

}  // namespace kvplan::cli
