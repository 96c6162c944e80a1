#include "simulator/results/report.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "simulator/base/version.h"
#include "simulator/results/figures.h"

namespace kvplan::runs {
namespace {

using observe::kStateNames;
using observe::kStates;

/// A value as JSON: numbers as written, text in quotes, an empty text as null.
void write_field(JsonWriter& json, const Field& field, const std::string& text) {
  if (text.empty()) {
    json.null();
  } else if (field.kind == FieldKind::kInteger) {
    json.value(parse_integer(text).value());
  } else if (field.kind == FieldKind::kSeconds) {
    json.value(parse_decimal(text).value());
  } else if (field.kind == FieldKind::kFraction && text.find('/') == std::string::npos) {
    json.digits(text);
  } else {
    json.value(text);  // also p/q, which JSON has no number for
  }
}

void write_component(JsonWriter& json, const Field& field, const std::string& text) {
  const Choice choice = parse_member(field.family, text).value();
  json.begin_object().member("name", choice.name());
  for (const Param& param : choice.descriptor().params) {
    if (!choice.says(param.name)) continue;
    json.key(param.name);
    if (param.kind == ParamKind::kInteger) {
      json.value(choice.integer(param.name));
    } else if (param.kind == ParamKind::kFlag) {
      json.value(choice.flag(param.name));
    } else if (param.kind == ParamKind::kDecimal) {
      json.digits(choice.text(param.name));  // the digits as given: a reader rounds them once
    } else {
      json.value(choice.text(param.name));
    }
  }
  json.end_object();
}

void write_group(JsonWriter& json, const RunSummary& r, std::string_view group) {
  json.key(group).begin_object();
  write_figures(json, r, group);
  json.end_object();
}

void write_memory(JsonWriter& json, std::int64_t capacity_bytes, const std::optional<MemorySummary>& memory) {
  json.key("memory").begin_object().member("capacity_bytes", capacity_bytes);
  const auto states = [&](const char* name, auto value) {
    json.key(name).begin_object();
    for (std::size_t s = 0; s < kStates; ++s) json.key(kStateNames[s]).value(value(s));
    json.end_object();
  };
  const auto optional = [&](bool known, auto get) {
    return [&memory, known, get](std::size_t s) {
      return known ? std::optional(get(*memory, s)) : std::nullopt;
    };
  };
  const bool timed = memory && memory->timed;
  states("mean_bytes",
         optional(timed, [](const MemorySummary& m, std::size_t s) { return m.mean_bytes[s]; }));
  states("mean_fraction",
         optional(timed, [](const MemorySummary& m, std::size_t s) { return m.mean_fraction[s]; }));
  json.key("peak").begin_object();
  json.key("time_s").value(memory ? std::optional<double>(memory->peak_time_s) : std::nullopt);
  states("bytes",
         optional(memory.has_value(), [](const MemorySummary& m, std::size_t s) { return m.peak_bytes[s]; }));
  json.end_object();
  json.key("overlays").begin_object();
  const auto overlays = [&](const char* name, auto value) {
    json.key(name).begin_object();
    for (std::size_t i = 0; i < observe::kOverlays; ++i) json.key(observe::kOverlayNames[i]).value(value(i));
    json.end_object();
  };
  overlays("mean_bytes",
           optional(timed, [](const MemorySummary& m, std::size_t i) { return m.mean_overlay_bytes[i]; }));
  overlays("peak_bytes", optional(memory.has_value(), [](const MemorySummary& m, std::size_t i) {
             return m.peak_overlay_bytes[i];
           }));
  json.end_object();
  json.key("layer_groups").begin_array();
  for (std::size_t k = 0; memory && k < memory->kinds.size(); ++k) {
    const KindMemory& kind = memory->kinds[k];
    json.begin_object().member("window_tokens", kind.kind.window);
    json.member("groups", kind.kind.groups).member("layers", kind.kind.layers);
    const auto held = [&](const char* name, auto value) {
      json.key(name).begin_object();
      for (const std::size_t s : observe::kHeldStates) json.key(kStateNames[s]).value(value(s));
      json.end_object();
    };
    held("mean_bytes",
         [&](std::size_t s) { return timed ? std::optional<double>(kind.mean_bytes[s]) : std::nullopt; });
    held("peak_bytes", [&](std::size_t s) { return kind.peak_bytes[s]; });
    json.member("states", kind.kind.states);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_step_time(JsonWriter& json, const std::optional<StepTimeSummary>& times) {
  json.key("step_time");
  if (!times) {
    json.null();
    return;
  }
  json.begin_object();
  for (std::size_t i = 0; i < kStepTimeNames.size(); ++i)
    json.key(kStepTimeNames[i]).value(times->seconds[i]);
  json.key("shares").begin_object();
  for (std::size_t i = 0; i < kStepTimeNames.size(); ++i) json.key(kStepTimeNames[i]).value(times->shares[i]);
  json.end_object().end_object();
}

void write_deployment(JsonWriter& json, const RunSummary& r) {
  json.key("deployment").begin_object();
  json.member("tensor_parallel", r.ranks.tensor_ranks).member("pipeline_parallel", r.ranks.stages);
  json.member("stage", r.ranks.stage).member("token_bytes", r.ranks.token_bytes);
  json.member("all_token_bytes", r.ranks.all_token_bytes);
  json.member("replicated_token_bytes", r.ranks.replicated_token_bytes);
  json.member("replicated_mean_bytes", r.replicated_mean_bytes);
  json.member("replicated_peak_bytes", r.replicated_peak_bytes);
  json.key("derivation").begin_array();
  for (const model::PoolItem& item : r.derivation) {
    json.begin_object().member("name", item.name).member("part", model::pool_part_name(item.part));
    json.member("bytes", item.bytes).member("low", item.low).member("high", item.high);
    json.member("mark", model::mark_name(item.mark)).member("source", item.source).end_object();
  }
  json.end_array().end_object();
}

void write_replicas(JsonWriter& json, const RunSummary& r) {
  json.key("replicas").begin_array();
  for (const ReplicaSummary& replica : r.replicas) {
    json.begin_object();
    json.member("requests", replica.requests).member("completed", replica.completed);
    json.member("preemptions", replica.preemptions).member("iterations", replica.iterations);
    json.key("batch").begin_object();
    json.member("mean_running", replica.mean_running).member("max_running", replica.max_running).end_object();
    const PoolShape& pool = replica.pool;
    json.member("quantum_tokens", pool.alloc_unit_tokens).member("quantum_bytes", pool.alloc_unit_bytes);
    json.member("quanta", pool.alloc_units).member("token_bytes", pool.token_bytes);
    json.member("metadata_bytes_per_token", pool.metadata_bytes_per_token);
    json.member("least_idle_bytes", replica.least_idle_bytes);
    write_memory(json, pool.capacity_bytes, replica.memory);
    json.end_object();
  }
  json.end_array();
}

void write_fits(JsonWriter& json, const RunSummary& r) {
  json.key("fits").begin_object();
  write_figures(json, r, "fits");
  json.key("obstacles").begin_array();
  for (const model::Obstacle& each : r.obstacles) write_obstacle(json, each);
  json.end_array().key("percentiles").begin_array();
  for (const PercentileOutcome& each : r.percentiles) {
    json.begin_object().member("percentile", each.name).member("need_s", each.need_s);
    json.member("have_s", each.have_s).member("holds", each.holds).end_object();
  }
  json.end_array().end_object();
}

constexpr double kTicksPerSecond = 1024e9;

void append(std::string& out, std::int64_t number) {
  out += std::to_string(number);
}

}  // namespace

void write_scenario(JsonWriter& json, const Scenario& scenario) {
  // Neighbouring paths with the same first part share an object; the fields are in that order.
  json.key("scenario").begin_object();
  std::string_view open;
  for (std::size_t i = 0; i < scenario_fields().size(); ++i) {
    const Field& field = scenario_fields()[i];
    const std::size_t dot = field.path.find('.');
    const std::string_view group =
        dot == std::string_view::npos ? std::string_view{} : field.path.substr(0, dot);
    if (group != open) {
      if (!open.empty()) json.end_object();
      if (!group.empty()) json.key(group).begin_object();
      open = group;
    }
    json.key(dot == std::string_view::npos ? field.path : field.path.substr(dot + 1));
    if (field.kind == FieldKind::kComponent && !scenario.texts[i].empty()) {
      write_component(json, field, scenario.texts[i]);
    } else {
      write_field(json, field, scenario.texts[i]);
    }
  }
  if (!open.empty()) json.end_object();
  json.end_object();
  json.key("scenario_origins").begin_object();
  each_source(scenario, [&](std::string_view path, const Source& source) {
    json.member(path, origin_of(source) == Origin::kGiven ? "given" : "default");
  });
  json.end_object();
}

namespace {

/// Writes the source of every value that is not a default.
void write_sources(JsonWriter& json, const Scenario& scenario) {
  json.key("scenario_sources").begin_array();
  each_source(scenario, [&](std::string_view path, const Source& source) {
    if (source.from == Source::From::kDefault) return;
    json.begin_object()
        .member("path", path)
        .member("from", from_name(source.from))
        .member("name", source.name);
    json.member("line", source.line > 0 ? std::optional(source.line) : std::nullopt);
    json.end_object();
  });
  json.end_array();
}

}  // namespace

void write_obstacle(JsonWriter& json, const model::Obstacle& each) {
  json.begin_object().member("obstacle", each.obstacle).member("need", each.need);
  json.member("have", each.have).member("unit", unit_name(each.unit)).key("remedies").begin_array();
  for (const std::string& setting : each.remedies) json.value(setting);
  json.end_array().end_object();
}

void write_report(JsonWriter& json, const RunSummary& r) {
  write_scenario(json, r.scenario);
  write_sources(json, r.scenario);
  json.member("seed", static_cast<std::int64_t>(r.scenario.seed)).member("version", kVersion);
  json.key("trace")
      .begin_object()
      .member("digest", r.trace_digest)
      .member("requests", r.trace_requests)
      .end_object();
  for (const auto& [name, lines] :
       {std::pair{"warnings", &r.warnings}, std::pair{"assumptions", &r.assumptions}}) {
    json.key(name).begin_array();
    for (const std::string& line : *lines) json.value(line);
    json.end_array();
  }
  write_group(json, r, "requests");
  for (const char* figure : {"preemptions", "iterations", "makespan_s"}) write_figures(json, r, figure);
  for (const char* group : {"tokens", "batch", "latency_s"}) write_group(json, r, group);
  write_step_time(json, r.step_time);
  write_group(json, r, "throughput");
  write_memory(json, r.capacity_bytes, r.memory);
  write_deployment(json, r);
  write_group(json, r, "evictions");
  write_group(json, r, "placement");
  if (r.answers) {
    write_group(json, r, "answers");
  } else {
    json.key("answers").null();
  }
  if (r.coverage) {
    write_group(json, r, "coverage");
  } else {
    json.key("coverage").null();
  }
  write_group(json, r, "slo");
  write_replicas(json, r);
  write_fits(json, r);
  write_group(json, r, "saturation");
  for (const char* figure : {"gpus", "nodes", "cost_per_hour", "cost_per_million_output_tokens"})
    write_figures(json, r, figure);
  json.key("currency");
  r.cost ? json.value(r.cost->currency) : json.null();
}

std::string report_json(const RunSummary& result) {
  JsonWriter json;
  json.begin_object();
  write_report(json, result);
  json.end_object();
  return json.take();
}

std::string requests_csv(const RunResult& result) {
  using observe::RequestStatus;
  std::string out =
      "request,arrival_ns,input_tokens,output_tokens,status,first_scheduled_ns,first_token_ns,finish_ns,"
      "preemptions,"
      "computed_tokens,prefix_hit_tokens,held_byte_s,peak_held_bytes,replica\n";
  out.reserve(result.records.size() * 120);
  if (result.records.empty()) return out;
  const Wide alloc_unit_bytes = result.details.front().layout.alloc_unit_bytes();
  for (std::size_t i = 0; i < result.records.size(); ++i) {
    const observe::RequestRecord& r = result.records[i];
    const auto time = [&](bool known, SimTime t) {
      out += ',';
      if (known) append(out, ns_floor(t.since_start));
    };
    append(out, static_cast<std::int64_t>(i));
    time(r.status != RequestStatus::kNotArrived, r.arrival);
    (out += ',') += std::to_string(result.input[i]);
    (out += ',') += std::to_string(result.output[i]);
    out += r.status == RequestStatus::kCompleted  ? ",completed"
           : r.status == RequestStatus::kRejected ? ",rejected"
                                                  : ",unfinished";
    time(r.scheduled, r.first_scheduled);
    time(r.has_first_token, r.first_token);
    time(r.status == RequestStatus::kCompleted, r.finish);
    (out += ',') += std::to_string(r.preemptions);
    (out += ',') += std::to_string(r.computed_tokens);
    (out += ',') += std::to_string(r.prefix_hit_tokens);
    if (result.held.empty()) {
      out += ",,";
    } else {
      const observe::RequestHeld& held = result.held[i];
      (out += ',') +=
          shortest(static_cast<double>(held.alloc_unit_ticks * alloc_unit_bytes) / kTicksPerSecond);
      (out += ',') += std::to_string(static_cast<std::int64_t>(held.most_alloc_units * alloc_unit_bytes));
    }
    out += ',';
    if (result.replica_of[i] >= 0) out += std::to_string(result.replica_of[i]);
    out += '\n';
  }
  return out;
}

BinNumbers bin_numbers(const ReplicaDetails& replica, const observe::TimelineBin& bin) {
  BinNumbers out{ns_floor(bin.begin.since_start), ns_floor(bin.end.since_start), {}, {}, {}};
  for (std::size_t row = 0; row < observe::kTimelineRows; ++row) {
    const std::int64_t scale = row < kStates ? replica.layout.count_bytes() : 1;
    const bool padding = row == static_cast<std::size_t>(observe::State::kPadding);
    const std::int64_t more = padding ? replica.layout.padding_bytes() : 0;
    out.mean[row] = bin.mean(row) * static_cast<double>(scale) + static_cast<double>(more);
    out.least[row] = bin.least[row] * scale + more;
    out.greatest[row] = bin.greatest[row] * scale + more;
  }
  return out;
}

std::string_view timeline_row_name(std::size_t row) {
  if (row < kStates) return kStateNames[row];
  return row == kStates ? "running" : "waiting";
}

std::string timeline_csv(const RunResult& result) {
  std::string out = "replica,begin_ns,end_ns";
  for (std::size_t row = 0; row < observe::kTimelineRows; ++row)
    for (const auto* what : {"_mean", "_min", "_max"})
      out.append(",").append(timeline_row_name(row)).append(what);
  out += '\n';
  for (std::size_t replica = 0; replica < result.details.size(); ++replica) {
    for (const observe::TimelineBin& bin : result.details[replica].timeline) {
      const BinNumbers numbers = bin_numbers(result.details[replica], bin);
      append(out, static_cast<std::int64_t>(replica));
      (out += ',') += std::to_string(numbers.begin_ns);
      (out += ',') += std::to_string(numbers.end_ns);
      for (std::size_t row = 0; row < observe::kTimelineRows; ++row) {
        (out += ',') += shortest(numbers.mean[row]);
        (out += ',') += std::to_string(numbers.least[row]);
        (out += ',') += std::to_string(numbers.greatest[row]);
      }
      out += '\n';
    }
  }
  return out;
}

}  // namespace kvplan::runs
