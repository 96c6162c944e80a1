// kvplan evict: what a token policy keeps of recorded attention.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "simulator/attention/catalogue.h"
#include "simulator/attention/evaluation.h"
#include "simulator/base/json_writer.h"
#include "simulator/cli/command.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/io/attention_json.h"
#include "simulator/io/policy_files.h"

namespace kvplan::cli {
namespace {

using attention::EvaluationSummary;
using attention::LayerReplay;

struct EvictOptions {
  std::string input;
  std::string policy;
  std::string json;
  std::int64_t prefill{0};
  std::int32_t sequence{0};
  std::int32_t layer{0};
};

void write_params(JsonWriter& json, const attention::PolicyChoice& policy, std::int32_t group) {
  json.key("params").begin_object();
  const auto params = policy.choice.descriptor().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const std::string& text = policy.choice.values()[i].text;
    json.key(params[i].name);
    if (params[i].name == attention::kGroupParam.name) {
      json.value(group);
    } else if (params[i].kind == ParamKind::kInteger) {
      json.value(policy.choice.integer(params[i].name));
    } else if (params[i].kind == ParamKind::kDecimal) {
      json.value(policy.choice.decimal(params[i].name));
    } else if (params[i].kind == ParamKind::kFlag) {
      json.value(policy.choice.flag(params[i].name));
    } else {
      json.value(text);
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

void write_numbers(JsonWriter& json, std::string_view key, std::span<const double> numbers) {
  json.key(key).begin_array();
  for (const double number : numbers) json.value(number);
  json.end_array();
}

void write_summary(JsonWriter& json, const EvaluationSummary& s) {
  json.key("summary").begin_object();
  json.member("steps", s.steps).member("group", s.group).member("stored_heads", s.stored_heads);
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
  json.key("assumptions").begin_array();
  for (const std::string& assumption : s.assumptions) json.value(assumption);
  json.end_array().end_object();
}

std::string number(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

std::string line(const char* what, const std::string& kept, const std::string& full,
                 const std::string& share) {
  char text[160];
  std::snprintf(text, sizeof(text), "  %-16s %14s %14s %9s", what, kept.c_str(), full.c_str(), share.c_str());
  std::string out = text;
  out.erase(out.find_last_not_of(' ') + 1);
  return out += '\n';
}

std::string percent(double part, double whole) {
  return whole > 0 ? number(100 * part / whole, 1) + " %" : "-";
}

std::string summary_text(const EvictOptions& options, const attention::PolicyChoice& policy,
                         const EvaluationSummary& s) {
  const std::int64_t tokens = options.prefill + s.steps;
  std::string out = policy.choice.to_string() + "\n" + options.input + ", sequence " +
                    std::to_string(options.sequence) + ", layer " + std::to_string(options.layer) + ": " +
                    std::to_string(tokens) + " tokens, of them " + std::to_string(options.prefill) +
                    " prompt; " + std::to_string(s.stored_heads) +
                    (s.stored_heads == 1 ? " stored head\n\n" : " stored heads\n\n");
  const auto kept = static_cast<double>(s.entries);
  const auto all = static_cast<double>(tokens * s.stored_heads);
  out += line("after last token", "kept", "full cache", "share");
  out +=
      line("cells", std::to_string(s.entries), std::to_string(tokens * s.stored_heads), percent(kept, all));
  out += line("bytes", std::to_string(s.bytes), std::to_string(s.full_bytes),
              percent(static_cast<double>(s.bytes), static_cast<double>(s.full_bytes)));
  out += line("peak bytes", std::to_string(s.peak_bytes), "", "");
  out += line("peak per head", std::to_string(s.peak_entries), std::to_string(tokens), "");
  if (s.mean_mass) {
    out += "\n" +
           line("attended mass", "mean " + number(*s.mean_mass, 4), "least " + number(*s.min_mass, 4), "");
    if (s.mean_output_error)
      out += line("output error", "mean " + number(*s.mean_output_error, 4),
                  "most " + number(*s.max_output_error, 4), "");
    // A policy may keep everything and attend to a part of it.
    const bool whole = s.entries == tokens * s.stored_heads;
    out += whole ? "\nThe cache stays whole; what a decode query attends to is "
                 : "\nThe cache ends at " +
                       percent(static_cast<double>(s.bytes), static_cast<double>(s.full_bytes)) +
                       " of the full one. A decode query still sees ";
    out += number(100 * *s.mean_mass, 1) + " % of its attention on average; the worst case is query head " +
           std::to_string(s.min_mass_head) + " at token " + std::to_string(s.min_mass_t) + ", with " +
           number(100 * *s.min_mass, 1) + " %.\n";
  } else {
    out += "\nThe whole sequence is prompt: there is no decode step whose attention could be measured.\n";
  }
  for (const std::string& assumption : s.assumptions) out += "Note: " + assumption + "\n";
  return out;
}

Status run_evict(const EvictOptions& options) {
  KVPLAN_TRY_DO(check_apart({options.input}, {options.json}));
  auto parsed = attention::parse_policy(options.policy);
  if (!parsed.ok()) return bad_input(parsed.error().to_string()).at_field("--policy");
  attention::PolicyChoice& policy = parsed.value();
  KVPLAN_TRY_DO(io::read_policy_files(policy));
  KVPLAN_TRY(const auto recording, io::open_attention(options.input));
  KVPLAN_TRY(const std::int32_t group, attention::group_of(policy, recording->info()));

  JsonWriter json(0);
  json.begin_object().member("policy", policy.kind->golden_name);
  write_params(json, policy, group);
  json.member("prefill_len", options.prefill).member("input", options.input);
  json.member("sequence", options.sequence).member("layer", options.layer);
  const attention::EvaluationRequest request{
      .policy = policy, .prompt = options.prefill, .sequence = options.sequence, .layer = options.layer};
  const bool steps_wanted = !options.json.empty();
  bool in_steps = false;
  KVPLAN_TRY(const EvaluationSummary summary,
             attention::evaluate(*recording, request, [&](const LayerReplay& replay) -> Status {
               if (interrupted()) return interrupted_error();
               if (!steps_wanted) return Done{};
               if (!in_steps) {
                 write_sets(json, "after_prefill", replay);
                 json.key("steps").begin_array();
                 in_steps = true;
                 return Done{};
               }
               json.begin_object().member("t", replay.tokens() - 1);
               write_sets(json, "retained", replay);
               write_numbers(json, "attended_mass", replay.attended_mass());
               if (!replay.output_error().empty()) write_numbers(json, "output_error", replay.output_error());
               json.end_object();
               return Done{};
             }));
  if (!steps_wanted) return write_text("-", summary_text(options, policy, summary));
  json.end_array();
  write_summary(json, summary);
  json.member("version", KVPLAN_VERSION).end_object();
  return write_text(options.json, json.take());
}

std::string policy_help() {
  std::string out = "Token policy as NAME[:key=value,...]:";
  for (const attention::PolicyKind* kind : attention::policies()) {
    out.append(" ").append(kind->descriptor.name);
    for (const Param& param : kind->descriptor.params)
      if (param.fallback.empty())
        out.append(&param == kind->descriptor.params.data() ? ":" : ",").append(param.name);
  }
  return out;
}

}  // namespace

void add_evict(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<EvictOptions>();
  CLI::App* const command = app.add_subcommand(
      "evict", "What a token policy keeps of recorded attention, and what its queries still see");
  command->add_option("INPUT", options->input, "A .kva recording, or attention rows as JSON")->required();
  command->add_option("--policy", options->policy, policy_help())->required();
  add_whole_number(*command, "--prefill", options->prefill, {1, INT32_MAX},
                   "Tokens of the prompt; the others are decode steps")
      ->required()
      ->default_str("");
  add_whole_number(*command, "--sequence", options->sequence, {0, INT32_MAX}, "Sequence of the recording");
  add_whole_number(*command, "--layer", options->layer, {0, INT32_MAX}, "Layer of the recording");
  add_json_option(*command, options->json, "every step");
  run_as(*command, outcome, [options] { return run_evict(*options); });
}

}  // namespace kvplan::cli
