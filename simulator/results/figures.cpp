#include "simulator/results/figures.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/run/summary.h"

namespace kvplan::runs {
namespace {

using observe::kOverlayNames;
using observe::kOverlays;
using observe::kStateNames;
using observe::kStates;

FigureValue value_of(std::int64_t number) {
  return number;
}
FigureValue value_of(FigureValue value) {
  return value;
}
FigureValue value_of(double number) {
  return number;
}
template <class T>
FigureValue value_of(const std::optional<T>& number) {
  return number ? FigureValue(*number) : FigureValue();
}

/// Appends figures one by one.
class Builder {
 public:
  explicit Builder(std::vector<Figure>& list) : list_(list) {}
  /// `get` is a member of RunSummary, or a function of one.
  template <class Get>
  Builder& add(std::string name, Unit unit, Better better, Get get) {
    list_.push_back({std::move(name), unit, better,
                     [get](const RunSummary& r) { return value_of(std::invoke(get, r)); }});
    return *this;
  }

 private:
  std::vector<Figure>& list_;
};

void add_latency(Builder& build, const std::string& name,
                 std::optional<LatencySummary> RunSummary::*summary) {
  const auto add = [&](const char* key, double LatencySummary::*field) {
    build.add("latency_s." + name + "." + key, Unit::kSeconds, Better::kLower,
              [summary, field](const RunSummary& r) {
                const auto& s = r.*summary;
                return s ? std::optional<double>((*s).*field) : std::nullopt;
              });
  };
  add("mean", &LatencySummary::mean);
  add("p50", &LatencySummary::p50);
  add("p90", &LatencySummary::p90);
  add("p95", &LatencySummary::p95);
  add("p99", &LatencySummary::p99);
  add("max", &LatencySummary::max);
}

/// Means exist only if time passed in the run.
template <class Get>
auto timed(Get get) {
  return [get](const RunSummary& r) {
    return r.memory && r.memory->timed ? std::optional(get(*r.memory)) : std::nullopt;
  };
}
template <class Get>
auto at_peak(Get get) {
  return [get](const RunSummary& r) { return r.memory ? std::optional(get(*r.memory)) : std::nullopt; };
}

void add_requests(Builder& build) {
  const auto requests = Unit::kRequests;
  build.add("trace.requests", requests, Better::kNeither, &RunSummary::trace_requests)
      .add("requests.arrived", requests, Better::kNeither, &RunSummary::arrived)
      .add("requests.completed", requests, Better::kHigher, &RunSummary::completed)
      .add("requests.rejected", requests, Better::kLower, &RunSummary::rejected)
      .add("requests.unfinished", requests, Better::kLower, &RunSummary::unfinished)
      .add("requests.preempted", requests, Better::kLower, &RunSummary::preempted)
      .add("requests.largest_tokens", Unit::kTokens, Better::kNeither, &RunSummary::largest_request_tokens)
      .add("preemptions", Unit::kNone, Better::kLower, &RunSummary::preemptions)
      .add("iterations", Unit::kNone, Better::kNeither, &RunSummary::iterations)
      .add("makespan_s", Unit::kSeconds, Better::kLower,
           [](const RunSummary& r) { return seconds(r.makespan); });
  const auto tokens = Unit::kTokens;
  build.add("tokens.input", tokens, Better::kNeither, &RunSummary::input_tokens)
      .add("tokens.output", tokens, Better::kNeither, &RunSummary::output_tokens)
      .add("tokens.computed", tokens, Better::kLower, &RunSummary::computed_tokens)
      .add("tokens.recomputed", tokens, Better::kLower, &RunSummary::recomputed_tokens)
      .add("tokens.prefix_hit", tokens, Better::kHigher, &RunSummary::prefix_hit_tokens)
      .add("tokens.rehit", tokens, Better::kNeither, &RunSummary::rehit_tokens)
      .add("batch.mean_running", requests, Better::kNeither, &RunSummary::mean_running)
      .add("batch.max_running", requests, Better::kNeither, &RunSummary::max_running);
  add_latency(build, "ttft", &RunSummary::ttft);
  add_latency(build, "tpot", &RunSummary::tpot);
  add_latency(build, "e2e", &RunSummary::e2e);
  add_latency(build, "queue", &RunSummary::queue);
  const auto of_steps = [&](const std::string& group, Unit unit, auto member) {
    for (std::size_t i = 0; i < kStepTimeNames.size(); ++i)
      build.add(group + std::string(kStepTimeNames[i]), unit, Better::kNeither,
                [member, i](const RunSummary& r) {
                  return r.step_time ? value_of(((*r.step_time).*member)[i]) : FigureValue();
                });
  };
  of_steps("step_time.", Unit::kSeconds, &StepTimeSummary::seconds);
  of_steps("step_time.shares.", Unit::kRatio, &StepTimeSummary::shares);
  build.add("throughput.requests_per_s", Unit::kNone, Better::kHigher, &RunSummary::requests_per_s)
      .add("throughput.output_tokens_per_s", Unit::kNone, Better::kHigher, &RunSummary::output_tokens_per_s);
}

void add_memory(Builder& build) {
  const auto neither = Better::kNeither;
  build.add("memory.capacity_bytes", Unit::kBytes, neither, &RunSummary::capacity_bytes);
  const auto states = [&](const std::string& group, Unit unit, auto get) {
    for (std::size_t s = 0; s < kStates; ++s)
      build.add("memory." + group + "." + std::string(kStateNames[s]), unit, neither, get(s));
  };
  states("mean_bytes", Unit::kBytes,
         [](std::size_t s) { return timed([s](const MemorySummary& m) { return m.mean_bytes[s]; }); });
  states("mean_fraction", Unit::kRatio,
         [](std::size_t s) { return timed([s](const MemorySummary& m) { return m.mean_fraction[s]; }); });
  build.add("memory.peak.time_s", Unit::kSeconds, neither,
            at_peak([](const MemorySummary& m) { return m.peak_time_s; }));
  states("peak.bytes", Unit::kBytes,
         [](std::size_t s) { return at_peak([s](const MemorySummary& m) { return m.peak_bytes[s]; }); });
  for (std::size_t i = 0; i < kOverlays; ++i)
    build.add("memory.overlays.mean_bytes." + std::string(kOverlayNames[i]), Unit::kBytes, neither,
              timed([i](const MemorySummary& m) { return m.mean_overlay_bytes[i]; }));
  for (std::size_t i = 0; i < kOverlays; ++i)
    build.add("memory.overlays.peak_bytes." + std::string(kOverlayNames[i]), Unit::kBytes, neither,
              at_peak([i](const MemorySummary& m) { return m.peak_overlay_bytes[i]; }));
}

void add_deployment(Builder& build) {
  const auto neither = Better::kNeither;
  const auto ranks = [&](const char* name, Unit unit, auto RankBytes::*member) {
    build.add(std::string("deployment.") + name, unit, neither,
              [member](const RunSummary& r) { return static_cast<std::int64_t>(r.ranks.*member); });
  };
  ranks("tensor_parallel", Unit::kNone, &RankBytes::tensor_ranks);
  ranks("pipeline_parallel", Unit::kNone, &RankBytes::stages);
  ranks("stage", Unit::kNone, &RankBytes::stage);
  ranks("token_bytes", Unit::kBytes, &RankBytes::token_bytes);
  ranks("all_token_bytes", Unit::kBytes, &RankBytes::all_token_bytes);
  ranks("replicated_token_bytes", Unit::kBytes, &RankBytes::replicated_token_bytes);
  build.add("deployment.replicated_mean_bytes", Unit::kBytes, neither, &RunSummary::replicated_mean_bytes)
      .add("deployment.replicated_peak_bytes", Unit::kBytes, neither, &RunSummary::replicated_peak_bytes);
}

void add_policies(Builder& build) {
  build.add("evictions.tokens", Unit::kTokens, Better::kNeither, &RunSummary::evicted_tokens)
      .add("evictions.blocks_freed", Unit::kBlocks, Better::kNeither, &RunSummary::evicted_blocks)
      .add("evictions.hole_bytes_peak", Unit::kBytes, Better::kLower, &RunSummary::hole_bytes_peak)
      .add("evictions.compactions", Unit::kNone, Better::kNeither, &RunSummary::compactions)
      .add("evictions.compaction_bytes", Unit::kBytes, Better::kNeither, &RunSummary::compaction_bytes);
  const auto placed = [&](const char* name, Unit unit, auto PlacingSummary::*member) {
    build.add(std::string("placement.") + name, unit, Better::kLower,
              [member](const RunSummary& r) { return r.placing.*member; });
  };
  placed("copies", Unit::kNone, &PlacingSummary::copies);
  placed("copied_bytes", Unit::kBytes, &PlacingSummary::copied_bytes);
  placed("compactions", Unit::kNone, &PlacingSummary::compactions);
  placed("compaction_bytes", Unit::kBytes, &PlacingSummary::compaction_bytes);
  build.add("placement.delay_s", Unit::kSeconds, Better::kLower,
            [](const RunSummary& r) { return seconds(r.placing.delay); });
  placed("delay_fraction", Unit::kRatio, &PlacingSummary::delay_fraction);
  const auto answered = [&](const char* name, Unit unit, auto get) {
    build.add(std::string("answers.") + name, unit, Better::kNeither, [get](const RunSummary& r) {
      return r.answers ? value_of(std::invoke(get, *r.answers)) : FigureValue();
    });
  };
  answered("prompts", Unit::kRequests, &workload::AnswerCounts::requests);
  answered("later_turns", Unit::kRequests, &workload::AnswerCounts::later_turns);
  answered("held", Unit::kRequests, &workload::AnswerCounts::held);
  answered("held_fraction", Unit::kRatio, [](const workload::AnswerCounts& answers) {
    return static_cast<double>(answers.held) / static_cast<double>(answers.requests);
  });
  const auto covered = [&](const char* name, Unit unit, auto get) {
    build.add(std::string("coverage.") + name, unit, Better::kNeither, [get](const RunSummary& r) {
      return r.coverage ? value_of(std::invoke(get, *r.coverage)) : FigureValue();
    });
  };
  covered("recordings", Unit::kNone, &Coverage::recordings);
  covered("used", Unit::kNone, &Coverage::used);
  covered("driven_requests", Unit::kRequests, &Coverage::driven_requests);
  covered("extrapolated_requests", Unit::kRequests, &Coverage::extrapolated_requests);
  covered("driven_request_fraction", Unit::kRatio, &Coverage::driven_request_fraction);
  covered("driven_byte_seconds_fraction", Unit::kRatio, &Coverage::driven_byte_seconds_fraction);
  build.add("slo.met_fraction", Unit::kRatio, Better::kHigher, &RunSummary::slo_met_fraction)
      .add("slo.goodput_per_s", Unit::kNone, Better::kHigher, &RunSummary::goodput_per_s)
      .add("slo.met", Unit::kNone, Better::kHigher, &RunSummary::slo_met);
}

void add_fits(Builder& build) {
  const auto higher = Better::kHigher;
  build.add("fits.starts", Unit::kNone, higher, &RunSummary::starts)
      .add("fits.unhindered", Unit::kNone, higher, &RunSummary::unhindered)
      .add("fits.targets", Unit::kNone, higher, &RunSummary::slo_met)
      .add("fits.percentile_ratio", Unit::kRatio, Better::kLower,
           [](const RunSummary& r) { return percentile_ratio(r.percentiles); });
  const auto saturation = [&](const char* name, Unit unit, auto get) {
    build.add(std::string("saturation.") + name, unit, Better::kLower, [get](const RunSummary& r) {
      return r.saturation ? value_of(get(*r.saturation)) : FigureValue();
    });
  };
  saturation("saturated", Unit::kNone, [](const Saturation& s) { return s.saturated; });
  saturation("backlog_at_end_of_arrivals_requests", Unit::kRequests,
             [](const Saturation& s) { return s.backlog; });
  saturation("drain_s", Unit::kSeconds, [](const Saturation& s) { return seconds(s.drain); });
}

void add_cost(Builder& build) {
  const auto lower = Better::kLower;
  build.add("gpus", Unit::kNone, lower, gpus_of)
      .add("nodes", Unit::kNone, lower,
           [](const RunSummary& r) { return r.cost ? std::optional(r.cost->nodes) : std::nullopt; })
      .add("cost_per_hour", Unit::kNone, lower,
           [](const RunSummary& r) { return r.cost ? std::optional(r.cost->per_hour) : std::nullopt; })
      .add("cost_per_million_output_tokens", Unit::kNone, lower, cost_per_million_output_tokens);
}

void write_value(JsonWriter& json, const FigureValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    json.value(*whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    json.value(*real);
  } else if (const auto* holds = std::get_if<bool>(&value)) {
    json.value(*holds);
  } else {
    json.null();
  }
}

}  // namespace

std::string_view better_name(Better better) {
  if (better == Better::kNeither) return {};
  return better == Better::kLower ? "lower" : "higher";
}

std::span<const Figure> figures() {
  static const std::vector<Figure> kAll = [] {
    std::vector<Figure> list;
    Builder build(list);
    add_requests(build);
    add_memory(build);
    add_deployment(build);
    add_policies(build);
    add_fits(build);
    add_cost(build);
    return list;
  }();
  return kAll;
}

const Figure& figure_named(std::string_view name) {
  const std::span<const Figure> all = figures();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Figure& f) { return f.name == name; });
  KVPLAN_CHECK(found != all.end());
  return *found;
}

std::optional<double> number_of(const FigureValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* holds = std::get_if<bool>(&value)) return *holds ? 1 : 0;
  return std::nullopt;
}

void write_figures(JsonWriter& json, const RunSummary& result, std::string_view group) {
  bool any = false;
  std::string_view open;  // the object within the group
  for (const Figure& figure : figures()) {
    std::string_view rest = figure.name;
    if (!rest.starts_with(group)) continue;
    rest.remove_prefix(group.size());
    if (rest.empty()) {
      json.key(group);
    } else if (rest.front() == '.') {
      rest.remove_prefix(1);
      const std::size_t dot = rest.find('.');
      const std::string_view inner = dot == std::string_view::npos ? std::string_view() : rest.substr(0, dot);
      if (inner != open) {
        if (!open.empty()) json.end_object();
        if (!inner.empty()) json.key(inner).begin_object();
        open = inner;
      }
      json.key(dot == std::string_view::npos ? rest : rest.substr(dot + 1));
    } else {
      continue;
    }
    write_value(json, figure.value(result));
    any = true;
  }
  if (!open.empty()) json.end_object();
  KVPLAN_CHECK(any);
}

}  // namespace kvplan::runs
