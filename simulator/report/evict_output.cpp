#include "simulator/report/evict_output.h"

#include <algorithm>
#include <cstdio>

#include "simulator/base/utf8.h"
#include "simulator/report/choice_output.h"
#include "simulator/report/plain_number.h"

namespace kvplan::report {

using attention::EvaluationSummary;
using attention::LayerReplay;

namespace {

void write_numbers(JsonWriter& json, std::string_view key, std::span<const double> numbers) {
  json.key(key).begin_array();
  for (const double number : numbers) json.value(number);
  json.end_array();
}

std::string line(const char* what, const std::string& kept, const std::string& full,
                 const std::string& share) {
  char text[160];
  std::snprintf(text, sizeof(text), "  %-16s %14s %14s %9s", what, kept.c_str(), full.c_str(), share.c_str());
  std::string out = text;
  out.erase(out.find_last_not_of(' ') + 1);
  return out += '\n';
}

/// Writes the shares of each class of tokens, and those of the needles separately.
void write_classes(JsonWriter& json, const std::vector<attention::ClassShare>& classes) {
  std::optional<double> needles;
  json.key("retained_by_class").begin_object();
  for (const attention::ClassShare& share : classes) {
    json.member(share.name, share.mean());
    if (share.name == attention::kNeedleClass) needles = share.mean();
  }
  json.end_object().member("needle_recall", needles);
}

std::string percent_of(double part, double whole) {
  return whole > 0 ? plain_number(100 * part / whole, 1) + " %" : "-";
}

/// Describes what the kept tokens take when stored in a format.
std::string stored_text(const std::string& format, const formats::EvaluationSummary& s) {
  std::string out =
      "\nStored bytes in format " + format + ", compared with a full cache of 2 bytes per element:\n";
  out += line("bytes", std::to_string(s.final_bytes), std::to_string(s.full_bytes),
              percent_of(static_cast<double>(s.final_bytes), static_cast<double>(s.full_bytes)));
  out += line("peak bytes", std::to_string(s.peak_bytes), "", "");
  if (s.mean_output_error)
    out += line("output error", "mean " + error_text(*s.mean_output_error),
                "most " + error_text(*s.max_output_error), "");
  if (s.max_logit_error) out += line("logit error", "", "most " + error_text(*s.max_logit_error), "");
  return out;
}

}  // namespace

void write_params(JsonWriter& json, const attention::PolicyChoice& policy, std::int32_t group) {
  json.key("params").begin_object();
  for (const Param& param : policy.choice.descriptor().params) {
    json.key(param.name);
    if (param.name == attention::kGroupParam.name) {
      json.value(group);
    } else {
      write_value(json, policy.choice, param);
    }
  }
  json.end_object();
}

void write_sets(JsonWriter& json, std::string_view key, const LayerReplay& replay) {
  json.key(key).begin_array();
  for (std::int32_t set = 0; set < replay.sets(); ++set) {
    json.begin_array();
    for (const std::int32_t position : replay.reported(set)) json.value(position);
    json.end_array();
  }
  json.end_array();
}

void write_step(JsonWriter& json, const LayerReplay& replay, std::span<const double> overlap) {
  json.begin_object().member("t", replay.tokens() - 1);
  write_sets(json, "retained", replay);
  write_numbers(json, "attended_mass", replay.attended_mass());
  if (!replay.output_error().empty()) write_numbers(json, "output_error", replay.output_error());
  if (!overlap.empty()) write_numbers(json, "overlap", overlap);
  json.end_object();
}

void write_summary(JsonWriter& json, const EvictOptions& options, const EvaluationSummary& s) {
  json.key("summary").begin_object();
  json.member("steps", s.steps).member("group", s.group).member("stored_heads", s.kv_heads);
  json.member("bytes", s.bytes).member("metadata_bytes", s.metadata_bytes);
  json.member("full_bytes", s.full_bytes).member("peak_bytes", s.peak_bytes);
  json.member("entries", s.entries).member("peak_entries", s.peak_entries);
  json.member("peak_decode_entries", s.peak_decode_entries);
  json.member("mean_attended_mass", s.mean_mass).member("min_attended_mass", s.min_mass);
  json.key("output_error");
  if (s.mean_output_error) {
    json.begin_object().member("mean", s.mean_output_error).member("max", s.max_output_error).end_object();
  } else {
    json.null();
  }
  if (options.overlap) json.member("mean_overlap", s.mean_overlap);
  if (!s.classes.empty()) write_classes(json, s.classes);
  json.key("assumptions").begin_array();
  for (const std::string& assumption : s.assumptions) json.value(assumption);
  json.end_array().end_object();
}

void write_grant(JsonWriter& json, const attention::Grants& grants, std::size_t layer) {
  if (!grants.by_head) {
    json.value(grants.tokens[layer].front());
    return;
  }
  json.begin_array();
  for (const std::int64_t tokens : grants.tokens[layer]) json.value(tokens);
  json.end_array();
}

std::string summary_text(const EvictOptions& options, const attention::PolicyChoice& policy,
                         const LayerOutcome& layer) {
  const EvaluationSummary& s = layer.summary;
  const std::int64_t tokens = options.prefill + s.steps;
  std::string out = policy.choice.to_string() + "\n" + options.input + ", sequence " +
                    std::to_string(options.sequence) + ", layer " + std::to_string(options.layer) + ": " +
                    std::to_string(tokens) + " tokens, of them " + std::to_string(options.prefill) +
                    " prompt; " + std::to_string(s.kv_heads) +
                    (s.kv_heads == 1 ? " KV head\n\n" : " KV heads\n\n");
  const auto kept = static_cast<double>(s.entries);
  const auto all = static_cast<double>(tokens * s.kv_heads);
  out += line("after last token", "kept", "full cache", "share");
  out += line("cells", std::to_string(s.entries), std::to_string(tokens * s.kv_heads), percent_of(kept, all));
  out += line("bytes", std::to_string(s.bytes), std::to_string(s.full_bytes),
              percent_of(static_cast<double>(s.bytes), static_cast<double>(s.full_bytes)));
  out += line("peak bytes", std::to_string(s.peak_bytes), "", "");
  out += line("peak per head", std::to_string(s.peak_entries), std::to_string(tokens), "");
  for (const attention::ClassShare& share : s.classes)
    if (share.mean())
      out += "  Tokens of class " + printable(share.name) + ": " + plain_number(100 * *share.mean(), 1) +
             " % kept on average.\n";
  if (s.mean_mass) {
    out += "\n" + line("attended mass", "mean " + plain_number(*s.mean_mass, 4),
                       "least " + plain_number(*s.min_mass, 4), "");
    if (s.mean_output_error)
      out += line("output error", "mean " + plain_number(*s.mean_output_error, 4),
                  "most " + plain_number(*s.max_output_error, 4), "");
    if (s.mean_overlap) out += line("overlap", "mean " + plain_number(*s.mean_overlap, 4), "", "");
    // A policy may keep all tokens and attend to only some of them.
    const bool whole = s.entries == tokens * s.kv_heads;
    out += whole ? "\nThe whole cache stays; the tokens that a decode query attends to take "
                 : "\nAt the end the cache has " +
                       percent_of(static_cast<double>(s.bytes), static_cast<double>(s.full_bytes)) +
                       " of the full cache's bytes. A decode query still reaches ";
    out += plain_number(100 * *s.mean_mass, 1) +
           " % of its attention mass on average; the worst case is query head " +
           std::to_string(s.min_mass_head) + " at token " + std::to_string(s.min_mass_t) + ", with " +
           plain_number(100 * *s.min_mass, 1) + " %.\n";
  } else {
    out += "\nThe prompt is the whole sequence: without a decode step there is no attention to measure.\n";
  }
  if (layer.stored) out += stored_text(options.format, *layer.stored);
  for (const std::string& assumption : s.assumptions) out += "Note: " + assumption + "\n";
  return out;
}

namespace {

/// Totals over all layers: sums of bytes and cells, masses over all steps and query heads, and all assumptions.
EvaluationSummary together(const std::vector<LayerOutcome>& layers) {
  EvaluationSummary out = layers.front().summary;
  double mass = 0, overlap = 0;
  for (const LayerOutcome& each : layers) {
    const EvaluationSummary& s = each.summary;
    mass += s.mean_mass.value_or(0.0);
    overlap += s.mean_overlap.value_or(0.0);
    if (&each == &layers.front()) continue;
    for (const std::string& assumption : s.assumptions)
      if (std::ranges::find(out.assumptions, assumption) == out.assumptions.end())
        out.assumptions.push_back(assumption);
    out.bytes += s.bytes;
    out.metadata_bytes += s.metadata_bytes;
    out.full_bytes += s.full_bytes;
    out.peak_bytes += s.peak_bytes;
    out.entries += s.entries;
    out.peak_entries = std::max(out.peak_entries, s.peak_entries);
    out.peak_decode_entries = std::max(out.peak_decode_entries, s.peak_decode_entries);
    if (s.min_mass && *s.min_mass < out.min_mass.value_or(2.0)) out.min_mass = s.min_mass;
  }
  if (out.mean_mass) out.mean_mass = mass / static_cast<double>(layers.size());
  if (out.mean_overlap) out.mean_overlap = overlap / static_cast<double>(layers.size());
  return out;
}

/// What a format stores in all layers together: sums of bytes, and errors over all layers.
std::optional<formats::EvaluationSummary> stored_together(const std::vector<LayerOutcome>& layers) {
  std::optional<formats::EvaluationSummary> out = layers.front().stored;
  for (std::size_t i = 1; out && i < layers.size(); ++i) {
    const formats::EvaluationSummary& s = *layers[i].stored;
    out->final_bytes += s.final_bytes;
    out->full_bytes += s.full_bytes;
    out->peak_bytes += s.peak_bytes;
    // If the recording of a layer ends with the prompt, there is no step to measure.
    if (!out->mean_output_error) continue;
    *out->mean_output_error += s.mean_output_error.value_or(0.0);
    *out->max_output_error = std::max(*out->max_output_error, s.max_output_error.value_or(0.0));
  }
  if (out && out->mean_output_error) *out->mean_output_error /= static_cast<double>(layers.size());
  return out;
}

std::string grant_text(const attention::Grants& grants, std::size_t layer) {
  std::string out;
  for (const std::int64_t tokens : grants.tokens[layer])
    out += (out.empty() ? "" : " ") +
           (tokens >= static_cast<std::int64_t>(attention::kMaxTokens) ? "all" : std::to_string(tokens));
  return out;
}

}  // namespace

std::string layers_text(const EvictOptions& options, const attention::PolicyChoice& policy,
                        const attention::Grants* grants, const std::vector<LayerOutcome>& layers) {
  const EvaluationSummary all = together(layers);
  const std::int64_t tokens = options.prefill + all.steps;
  std::string out = policy.choice.to_string() + "\n";
  if (grants != nullptr) out += "budget " + options.budget + "\n";
  if (!options.format.empty()) out += "stored in " + options.format + "\n";
  out += options.input + ", sequence " + std::to_string(options.sequence) + ": " + std::to_string(tokens) +
         " tokens, of them " + std::to_string(options.prefill) + " prompt; " + std::to_string(all.kv_heads) +
         (all.kv_heads == 1 ? " KV head" : " KV heads") + " in each layer\n\n";
  const std::optional<formats::EvaluationSummary> all_stored = stored_together(layers);
  char text[200];
  std::snprintf(text, sizeof(text), "%5s %12s %14s %9s %9s %9s%s%s%s\n", "layer", "cells", "bytes", "of full",
                "mass", "least", options.overlap ? "   overlap" : "",
                all_stored ? "         stored     error" : "", grants != nullptr ? "  budget" : "");
  out += text;
  const auto row = [&](const std::string& name, const EvaluationSummary& s,
                       const std::optional<formats::EvaluationSummary>& stored, const std::string& budget) {
    std::snprintf(text, sizeof(text), "%5s %12s %14s %9s %9s %9s", name.c_str(),
                  std::to_string(s.entries).c_str(), std::to_string(s.bytes).c_str(),
                  percent_of(static_cast<double>(s.bytes), static_cast<double>(s.full_bytes)).c_str(),
                  s.mean_mass ? plain_number(*s.mean_mass, 4).c_str() : "-",
                  s.min_mass ? plain_number(*s.min_mass, 4).c_str() : "-");
    out += text;
    if (options.overlap) {
      std::snprintf(text, sizeof(text), " %9s",
                    s.mean_overlap ? plain_number(*s.mean_overlap, 4).c_str() : "-");
      out += text;
    }
    if (stored) {
      std::snprintf(text, sizeof(text), " %14s %9s", std::to_string(stored->final_bytes).c_str(),
                    stored->mean_output_error ? error_text(*stored->mean_output_error).c_str() : "-");
      out += text;
    }
    out += (budget.empty() ? "" : "  " + budget) + "\n";
  };
  for (const LayerOutcome& each : layers)
    row(std::to_string(each.layer), each.summary, each.stored,
        grants != nullptr ? grant_text(*grants, each.layer) : std::string());
  row("all", all, all_stored, "");
  out += "\n";
  for (const std::string& assumption : all.assumptions) out += "Note: " + assumption + "\n";
  return out;
}

void write_layers_summary(JsonWriter& json, const EvictOptions& options,
                          const std::vector<LayerOutcome>& layers) {
  const EvaluationSummary s = together(layers);
  json.key("summary").begin_object();
  json.member("layers", static_cast<std::int64_t>(layers.size())).member("bytes", s.bytes);
  if (const auto stored = stored_together(layers)) {
    json.member("stored_bytes", stored->final_bytes).member("peak_stored_bytes", stored->peak_bytes);
    json.member("mean_output_error", stored->mean_output_error);
    json.member("max_output_error", stored->max_output_error);
  }
  json.member("metadata_bytes", s.metadata_bytes).member("full_bytes", s.full_bytes);
  json.member("entries", s.entries).member("peak_entries", s.peak_entries);
  json.member("mean_attended_mass", s.mean_mass).member("min_attended_mass", s.min_mass);
  if (options.overlap) json.member("mean_overlap", s.mean_overlap);
  if (!s.classes.empty()) write_classes(json, s.classes);
  json.key("assumptions").begin_array();
  for (const std::string& assumption : s.assumptions) json.value(assumption);
  json.end_array().end_object();
}

}  // namespace kvplan::report
