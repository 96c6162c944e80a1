#include "simulator/plan/figures.h"

#include <optional>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/plan/summary.h"

namespace kvplan::plan {
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

/// Adds figures one behind the other.
class Builder {
 public:
  explicit Builder(std::vector<Figure>& list) : list_(list) {}
  /// `get` is a member of RunResult, or a function of one.
  template <class Get>
  Builder& add(std::string name, Unit unit, Better better, Get get) {
    list_.push_back(
        {std::move(name), unit, better, [get](const RunResult& r) { return value_of(std::invoke(get, r)); }});
    return *this;
  }

 private:
  std::vector<Figure>& list_;
};

void add_latency(Builder& build, const std::string& name, std::optional<LatencySummary> RunResult::*summary) {
  const auto add = [&](const char* key, double LatencySummary::*field) {
    build.add("latency_s." + name + "." + key, Unit::kSeconds, Better::kLower,
              [summary, field](const RunResult& r) {
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

/// Means exist where time passed.
template <class Get>
auto timed(Get get) {
  return [get](const RunResult& r) {
    return r.memory && r.memory->timed ? std::optional(get(*r.memory)) : std::nullopt;
  };
}
template <class Get>
auto at_peak(Get get) {
  return [get](const RunResult& r) { return r.memory ? std::optional(get(*r.memory)) : std::nullopt; };
}

void add_requests(Builder& build) {
  const auto requests = Unit::kRequests;
  build.add("trace.requests", requests, Better::kNeither, &RunResult::trace_requests)
      .add("requests.arrived", requests, Better::kNeither, &RunResult::arrived)
      .add("requests.completed", requests, Better::kHigher, &RunResult::completed)
      .add("requests.rejected", requests, Better::kLower, &RunResult::rejected)
      .add("requests.unfinished", requests, Better::kLower, &RunResult::unfinished)
      .add("requests.preempted", requests, Better::kLower, &RunResult::preempted)
      .add("preemptions", Unit::kNone, Better::kLower, &RunResult::preemptions)
      .add("iterations", Unit::kNone, Better::kNeither, &RunResult::iterations)
      .add("makespan_s", Unit::kSeconds, Better::kLower,
           [](const RunResult& r) { return seconds(r.makespan); });
  const auto tokens = Unit::kTokens;
  build.add("tokens.input", tokens, Better::kNeither, &RunResult::input_tokens)
      .add("tokens.output", tokens, Better::kNeither, &RunResult::output_tokens)
      .add("tokens.computed", tokens, Better::kLower, &RunResult::computed_tokens)
      .add("tokens.recomputed", tokens, Better::kLower, &RunResult::recomputed_tokens)
      .add("tokens.prefix_hit", tokens, Better::kHigher, &RunResult::prefix_hit_tokens)
      .add("tokens.rehit", tokens, Better::kNeither, &RunResult::rehit_tokens)
      .add("batch.mean_running", requests, Better::kNeither, &RunResult::mean_running)
      .add("batch.max_running", requests, Better::kNeither, &RunResult::max_running);
  add_latency(build, "ttft", &RunResult::ttft);
  add_latency(build, "tpot", &RunResult::tpot);
  add_latency(build, "e2e", &RunResult::e2e);
  add_latency(build, "queue", &RunResult::queue);
  build.add("throughput.requests_per_s", Unit::kNone, Better::kHigher, &RunResult::requests_per_s)
      .add("throughput.output_tokens_per_s", Unit::kNone, Better::kHigher, &RunResult::output_tokens_per_s);
}

void add_memory(Builder& build) {
  const auto neither = Better::kNeither;
  build.add("memory.capacity_bytes", Unit::kBytes, neither, &RunResult::capacity_bytes);
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
              [member](const RunResult& r) { return static_cast<std::int64_t>(r.ranks.*member); });
  };
  ranks("tensor_parallel", Unit::kNone, &RankBytes::tensor_ranks);
  ranks("pipeline_parallel", Unit::kNone, &RankBytes::stages);
  ranks("stage", Unit::kNone, &RankBytes::stage);
  ranks("token_bytes", Unit::kBytes, &RankBytes::token_bytes);
  ranks("all_token_bytes", Unit::kBytes, &RankBytes::all_token_bytes);
  ranks("replicated_token_bytes", Unit::kBytes, &RankBytes::replicated_token_bytes);
  build.add("deployment.replicated_mean_bytes", Unit::kBytes, neither, &RunResult::replicated_mean_bytes)
      .add("deployment.replicated_peak_bytes", Unit::kBytes, neither, &RunResult::replicated_peak_bytes);
}

void add_policies(Builder& build) {
  build.add("evictions.tokens", Unit::kTokens, Better::kNeither, &RunResult::evicted_tokens)
      .add("evictions.blocks_freed", Unit::kBlocks, Better::kNeither, &RunResult::evicted_blocks)
      .add("evictions.hole_bytes_peak", Unit::kBytes, Better::kLower, &RunResult::hole_bytes_peak)
      .add("evictions.compactions", Unit::kNone, Better::kNeither, &RunResult::compactions)
      .add("evictions.compaction_bytes", Unit::kBytes, Better::kNeither, &RunResult::compaction_bytes);
  const auto placed = [&](const char* name, Unit unit, auto PlacementSummary::*member) {
    build.add(std::string("placement.") + name, unit, Better::kLower,
              [member](const RunResult& r) { return r.placement.*member; });
  };
  placed("copies", Unit::kNone, &PlacementSummary::copies);
  placed("copied_bytes", Unit::kBytes, &PlacementSummary::copied_bytes);
  placed("compactions", Unit::kNone, &PlacementSummary::compactions);
  placed("compaction_bytes", Unit::kBytes, &PlacementSummary::compaction_bytes);
  build.add("placement.delay_s", Unit::kSeconds, Better::kLower,
            [](const RunResult& r) { return seconds(r.placement.delay); });
  placed("delay_fraction", Unit::kRatio, &PlacementSummary::delay_fraction);
  const auto covered = [&](const char* name, Unit unit, auto get) {
    build.add(std::string("coverage.") + name, unit, Better::kNeither, [get](const RunResult& r) {
      return r.coverage ? value_of(std::invoke(get, *r.coverage)) : FigureValue();
    });
  };
  covered("recordings", Unit::kNone, &Coverage::recordings);
  covered("used", Unit::kNone, &Coverage::used);
  covered("driven_requests", Unit::kRequests, &Coverage::driven_requests);
  covered("driven_request_fraction", Unit::kRatio, &Coverage::driven_request_fraction);
  covered("driven_byte_seconds_fraction", Unit::kRatio, &Coverage::driven_byte_seconds_fraction);
  build.add("slo.met_fraction", Unit::kRatio, Better::kHigher, &RunResult::slo_met_fraction)
      .add("slo.goodput_per_s", Unit::kNone, Better::kHigher, &RunResult::goodput_per_s)
      .add("slo.met", Unit::kNone, Better::kHigher, &RunResult::slo_met);
}

void add_fits(Builder& build) {
  const auto higher = Better::kHigher;
  build.add("fits.starts", Unit::kNone, higher, &RunResult::starts)
      .add("fits.unhindered", Unit::kNone, higher, &RunResult::unhindered)
      .add("fits.targets", Unit::kNone, higher, &RunResult::slo_met)
      .add("fits.percentile_ratio", Unit::kRatio, Better::kLower,
           [](const RunResult& r) { return percentile_ratio(r.percentiles); });
  const auto saturation = [&](const char* name, Unit unit, auto get) {
    build.add(std::string("saturation.") + name, unit, Better::kLower, [get](const RunResult& r) {
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
           [](const RunResult& r) { return r.cost ? std::optional(r.cost->nodes) : std::nullopt; })
      .add("cost_per_hour", Unit::kNone, lower,
           [](const RunResult& r) { return r.cost ? std::optional(r.cost->per_hour) : std::nullopt; })
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

void write_figures(JsonWriter& json, const RunResult& result, std::string_view group) {
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

}  // namespace kvplan::plan
