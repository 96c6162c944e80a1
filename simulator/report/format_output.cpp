#include "simulator/report/format_output.h"

#include <array>
#include <cstdio>

#include "simulator/base/json_writer.h"
#include "simulator/formats/region_names.h"
#include "simulator/report/choice_output.h"
#include "simulator/report/evict_output.h"
#include "simulator/report/plain_number.h"

namespace kvplan::report {
namespace {

using formats::Checkpoint;
using formats::Evaluation;
using formats::EvaluationRequest;
using formats::HeadState;
using formats::kSides;
using formats::LayerBytes;
using formats::Side;
using formats::StepResult;

void write_evict(JsonWriter& json, const EvaluationRequest& request, std::int32_t group) {
  json.key("evict");
  if (!request.evict) {
    json.null();
    return;
  }
  json.begin_object().member("policy", request.evict->kind->golden_name);
  write_params(json, *request.evict, group);
  json.end_object();
}

void write_columns(JsonWriter& json) {
  json.key("byte_columns").begin_array();
  for (const char* side : {"k_", "v_"})
    for (const formats::NamedRegion& region : formats::kRegions) json.value(std::string(side) + region.name);
  json.value("total").end_array();
}

void write_bytes(JsonWriter& json, const LayerBytes& bytes) {
  json.key("bytes").begin_array();
  for (const Side side : kSides)
    for (const formats::NamedRegion& region : formats::kRegions) json.value(bytes.of(side).*region.bytes);
  json.value(bytes.total()).end_array();
}

void write_numbers(JsonWriter& json, std::string_view key, const std::vector<double>& numbers) {
  json.key(key).begin_array();
  for (const double number : numbers) json.value(number);
  json.end_array();
}

void write_digest(JsonWriter& json, std::string_view key, const std::optional<std::uint64_t>& digest) {
  json.key(key);
  if (!digest) {
    json.null();
    return;
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(*digest));
  json.value(text);
}

void write_state(JsonWriter& json, const HeadState& state) {
  json.begin_object().member("tokens", state.tokens).key("first_pos");
  state.tokens > 0 ? json.value(state.first_position) : json.null();
  json.member("encoded", state.encoded);
  write_digest(json, "xhat_fnv", state.stored_digest);
  write_digest(json, "codes_fnv", state.codes_digest);
  json.member("max_abs_error", state.max_abs_error).member("mean_abs_error", state.mean_abs_error);
  json.member("relative_frobenius", state.relative_frobenius).end_object();
}

void write_checkpoint(JsonWriter& json, const Checkpoint& checkpoint, bool after_prompt) {
  json.begin_object().key("after");
  after_prompt ? json.value("prefill") : json.value(checkpoint.tokens - 1);
  for (const Side side : kSides) {
    json.key(formats::side_letter(side)).begin_array();
    for (const HeadState& state : checkpoint.heads[static_cast<std::size_t>(side)]) write_state(json, state);
    json.end_array();
  }
  json.key("probes").begin_array();
  for (const auto& probe : checkpoint.probes) {
    if (!probe) {
      json.null();
      continue;
    }
    json.begin_array().value(formats::side_letter(probe->probe.side)).value(probe->probe.head);
    json.value(probe->probe.position).value(probe->probe.channel);
    json.value(probe->recorded).value(probe->stored);
    json.value(probe->coded.code).value(probe->coded.scale).value(probe->coded.zero).end_array();
  }
  json.end_array().end_object();
}

void write_format(JsonWriter& json, const EvaluationRequest& request) {
  json.member("format", request.format.kind->golden_name);
  write_params(json, request.format.choice);
}

void write_class(JsonWriter& json, const EvaluationRequest& request) {
  json.member("class", request.format.kind->exactness == formats::Exactness::kExact ? "exact" : "tolerance");
}

void write_steps(JsonWriter& json, const std::vector<StepResult>& steps) {
  json.key("steps").begin_array();
  for (const StepResult& step : steps) {
    json.begin_object().member("t", step.t);
    write_bytes(json, step.bytes);
    json.member("total_at_attend", step.total_at_attend);
    write_numbers(json, "output_error", step.output_error);
    write_numbers(json, "logit_error", step.logit_error);
    json.end_object();
  }
  json.end_array();
}

void write_summary(JsonWriter& json, const formats::EvaluationSummary& s) {
  json.key("summary").begin_object();
  json.member("final_bytes", s.final_bytes).member("full_bytes", s.full_bytes);
  json.member("ratio", static_cast<double>(s.final_bytes) / static_cast<double>(s.full_bytes));
  json.member("bytes_per_stored_token", s.bytes_per_stored_token).member("peak_bytes", s.peak_bytes);
  json.member("mean_output_error", s.mean_output_error).member("max_output_error", s.max_output_error);
  json.member("max_logit_error", s.max_logit_error).member("stored_writes", s.stored_writes).end_object();
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

}  // namespace

std::string format_json(const EvaluationRequest& request, const Evaluation& found, const std::string& input,
                        std::int32_t group) {
  JsonWriter json(0);
  json.begin_object();
  write_format(json, request);
  write_evict(json, request, group);
  json.member("input", input).member("prefill_len", request.prompt);
  json.member("sequence", request.sequence).member("layer", request.layer);
  write_class(json, request);
  write_columns(json);
  json.key("after_prefill").begin_object();
  write_bytes(json, found.after_prompt);
  if (request.evict) {
    json.key("retained").begin_array();
    for (const auto& positions : found.retained) {
      json.begin_array();
      for (const std::int64_t position : positions) json.value(position);
      json.end_array();
    }
    json.end_array();
  }
  json.end_object();
  write_steps(json, found.steps);
  json.key("checkpoints").begin_array();
  write_checkpoint(json, found.checkpoints[0], true);
  write_checkpoint(json, found.checkpoints[1], false);
  json.end_array();
  write_summary(json, found.summary);
  json.member("version", KVPLAN_VERSION).end_object();
  return json.take();
}

void write_stored(JsonWriter& json, const EvaluationRequest& request, const Evaluation& found) {
  write_format(json, request);
  write_class(json, request);
  write_columns(json);
  json.key("after_prefill").begin_object();
  write_bytes(json, found.after_prompt);
  json.end_object();
  write_steps(json, found.steps);
  write_summary(json, found.summary);
}

std::string format_text(const EvaluationRequest& request, const Evaluation& found, const std::string& input) {
  const formats::EvaluationSummary& s = found.summary;
  const auto share = [&](std::int64_t bytes) {
    return plain_number(100 * static_cast<double>(bytes) / static_cast<double>(s.full_bytes), 1) + " %";
  };
  std::string out = request.format.choice.to_string();
  if (request.evict) out += " of what " + request.evict->choice.to_string() + " keeps";
  const auto& last = found.checkpoints[1];
  out += "\n" + input + ", sequence " + std::to_string(request.sequence) + ", layer " +
         std::to_string(request.layer) + ": " + std::to_string(last.tokens) + " tokens, of them " +
         std::to_string(request.prompt) + " prompt\n\n";
  constexpr std::size_t kName = 16;
  constexpr std::size_t kNumber = 14;
  const auto row = [&](std::string name, const std::vector<std::string>& cells) {
    name.resize(std::max(name.size(), kName), ' ');
    out += "  " + name;
    for (const std::string& cell : cells) out += padded(cell, kNumber);
    out += "\n";
  };
  const LayerBytes& bytes = found.steps.empty() ? found.after_prompt : found.steps.back().bytes;
  row("after last token", {"keys", "values", "of full cache"});
  for (const formats::NamedRegion& region : formats::kRegions) {
    const std::int64_t keys = bytes.keys.*region.bytes;
    const std::int64_t values = bytes.values.*region.bytes;
    if (keys + values > 0)
      row(region.name, {std::to_string(keys), std::to_string(values), share(keys + values)});
  }
  row("bytes",
      {std::to_string(bytes.keys.total()), std::to_string(bytes.values.total()), share(bytes.total())});
  row("peak bytes", {"", std::to_string(s.peak_bytes), share(s.peak_bytes)});
  out += "\n";
  for (const Side side : kSides) {
    double error = 0;
    for (const HeadState& state : last.heads[static_cast<std::size_t>(side)])
      error = std::max(error, state.relative_frobenius);
    row(side == Side::kKeys ? "error of keys" : "error of values", {"relative", error_text(error)});
  }
  if (s.mean_output_error) {
    row("output error", {"mean", error_text(*s.mean_output_error)});
    row("", {"most", error_text(*s.max_output_error)});
    row("logit error", {"most", error_text(*s.max_logit_error)});
  } else {
    out += "\nThe prompt is the whole sequence: without a decode step there is no attention to measure.\n";
  }
  return out;
}

}  // namespace kvplan::report
