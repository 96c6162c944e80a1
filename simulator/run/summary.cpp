#include "simulator/run/summary.h"

#include <algorithm>
#include <numeric>

#include "simulator/base/check.h"

namespace kvplan::runs {

PoolShape pool_shape(const core::MemoryLayout& layout) {
  return {.alloc_unit_tokens = layout.alloc_unit_tokens,
          .alloc_unit_bytes = layout.alloc_unit_bytes(),
          .alloc_units = layout.alloc_units,
          .token_bytes = layout.token_bytes,
          .metadata_bytes_per_token = layout.cells_per_token * layout.metadata_bytes,
          .capacity_bytes = layout.capacity_bytes};
}

namespace {

using observe::kStates;
using observe::RequestRecord;
using observe::RequestStatus;

/// Percentiles by nearest rank (the smallest value that at least p percent of all do not exceed), computed in
/// ascending order: only the requested ranks are put in place, and each search starts after the one before.
class Percentiles {
 public:
  explicit Percentiles(std::vector<double>& values) : values_(values), from_(values.begin()) {}
  double next(std::int64_t percent) {
    const auto n = static_cast<std::int64_t>(values_.size());
    const std::int64_t rank = std::max<std::int64_t>(ceil_div(percent * n, 100), 1);
    const auto place = values_.begin() + (rank - 1);
    std::nth_element(from_, place, values_.end());
    from_ = place;
    return *place;
  }

 private:
  std::vector<double>& values_;
  std::vector<double>::iterator from_;  // no value behind it is less than any value before it
};

/// Reorders the values.
std::optional<LatencySummary> summarize(std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  LatencySummary s;
  s.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  Percentiles percentiles(values);
  s.p50 = percentiles.next(50);
  s.p90 = percentiles.next(90);
  s.p95 = percentiles.next(95);
  s.p99 = percentiles.next(99);
  s.max = percentiles.next(100);
  return s;
}

std::optional<Saturation> saturation_of(const std::vector<RequestRecord>& records) {
  std::optional<SimTime> first, last;
  for (const RequestRecord& r : records) {
    if (r.status == RequestStatus::kNotArrived || r.status == RequestStatus::kRejected) continue;
    first = first ? std::min(*first, r.arrival) : r.arrival;
    last = last ? std::max(*last, r.arrival) : r.arrival;
  }
  if (!last) return std::nullopt;
  Saturation out;
  for (const RequestRecord& r : records) {
    if (!r.scheduled || r.first_scheduled <= *last) continue;
    ++out.backlog;
    out.drain = std::max(out.drain, r.first_scheduled - *last);
  }
  const Ticks span = *last - *first;
  if (span.count > 0) out.saturated = Wide{out.drain.count} * kSaturatedShareOf > span.count;
  return out;
}

// What users wait for of a completed request, in seconds. `outside`: before the engine has it.
double ttft_of(const RequestRecord& r, Ticks outside) {
  return seconds(r.first_token - r.arrival + outside);
}
double e2e_of(const RequestRecord& r, Ticks outside) {
  return seconds(r.finish - r.arrival + outside);
}
double queue_of(const RequestRecord& r) {
  return seconds(r.first_scheduled - r.arrival);
}
/// REQUIRES: output tokens >= 2.
double tpot_of(const RequestRecord& r, std::int64_t output) {
  return seconds(r.finish - r.first_token) / static_cast<double>(output - 1);
}

/// The requests that arrived in the window of a scenario.
struct Asked {
  std::int64_t requests{0};
  std::int64_t have_tpot{0};  ///< requests with several output tokens
};

/// Computes one kind of latency after the other, so that only one column of values exists at a time.
void summarize_latencies(const core::Workload& workload, const std::vector<RequestRecord>& records,
                         const Scenario& scenario, const Asked& asked, const core::OutsideTimes& outside_of,
                         RunResult& result) {
  const auto outside = [&](std::size_t i) { return outside_of(workload.input[i]); };
  for (const PercentileTarget& target : scenario.percentiles)
    result.percentiles.push_back({.name = target.name, .need_s = target.need_s});
  const bool all_count = !scenario.target_from_s && !scenario.target_to_s;
  std::vector<double> values;
  const auto summarize_kind = [&](LatencyKind kind, std::int64_t all, auto latency_of) {
    values.clear();
    for (std::size_t i = 0; i < records.size(); ++i) {
      const RequestRecord& r = records[i];
      if (r.status != RequestStatus::kCompleted) continue;
      if (kind == LatencyKind::kTpot && workload.output[i] <= 1) continue;
      if (all_count || scenario.in_window(seconds(r.arrival.since_start))) values.push_back(latency_of(r, i));
    }
    std::optional<LatencySummary> summary = summarize(values);
    for (std::size_t t = 0; t < scenario.percentiles.size() && asked.requests > 0; ++t)
      if (scenario.percentiles[t].latency == kind)
        result.percentiles[t] =
            judged(scenario.percentiles[t], values, all - static_cast<std::int64_t>(values.size()));
    return summary;
  };
  result.ttft = summarize_kind(LatencyKind::kTtft, asked.requests,
                               [&](const RequestRecord& r, std::size_t i) { return ttft_of(r, outside(i)); });
  result.tpot =
      summarize_kind(LatencyKind::kTpot, asked.have_tpot,
                     [&](const RequestRecord& r, std::size_t i) { return tpot_of(r, workload.output[i]); });
  result.e2e = summarize_kind(LatencyKind::kE2e, asked.requests,
                              [&](const RequestRecord& r, std::size_t i) { return e2e_of(r, outside(i)); });
  result.queue = summarize_kind(LatencyKind::kQueue, asked.requests,
                                [](const RequestRecord& r, std::size_t) { return queue_of(r); });
}

}  // namespace

void summarize_requests(const core::Workload& workload, std::vector<RequestRecord> records,
                        const Scenario& scenario, const core::OutsideTimes& outside_of, RunResult& result) {
  Asked asked;
  std::int64_t met = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RequestRecord& r = records[i];
    if (r.status == RequestStatus::kNotArrived) continue;
    ++result.arrived;
    const bool counts = scenario.in_window(seconds(r.arrival.since_start));
    asked.requests += counts ? 1 : 0;
    asked.have_tpot += counts && workload.output[i] > 1 ? 1 : 0;
    if (r.scheduled)
      result.largest_request_tokens =
          std::max(result.largest_request_tokens, std::int64_t{workload.input[i]} + workload.output[i]);
    result.preempted += r.preemptions > 0 ? 1 : 0;
    result.preemptions += r.preemptions;
    result.prefix_hit_tokens += r.prefix_hit_tokens;
    result.rehit_tokens += r.rehit_tokens;
    if (r.status == RequestStatus::kRejected) ++result.rejected;
    if (r.status == RequestStatus::kUnfinished) ++result.unfinished;
    if (r.status != RequestStatus::kCompleted) continue;
    ++result.completed;
    result.input_tokens += workload.input[i];
    result.output_tokens += workload.output[i];
    result.recomputed_tokens +=
        r.computed_tokens - (workload.final_tokens(id_at<RequestId>(i)) - r.prefix_hit_tokens);
    if (!counts || !scenario.has_request_targets()) continue;
    const double per_token = workload.output[i] > 1 ? tpot_of(r, workload.output[i]) : 0;
    const Ticks outside = outside_of(workload.input[i]);
    const bool good = (!scenario.target_ttft_s || ttft_of(r, outside) <= *scenario.target_ttft_s) &&
                      (!scenario.target_tpot_s || per_token <= *scenario.target_tpot_s) &&
                      (!scenario.target_e2e_s || e2e_of(r, outside) <= *scenario.target_e2e_s);
    met += good ? 1 : 0;
  }
  summarize_latencies(workload, records, scenario, asked, outside_of, result);
  bool all_hold = std::all_of(result.percentiles.begin(), result.percentiles.end(),
                              [](const PercentileOutcome& p) { return p.holds.value_or(false); });
  if (scenario.has_request_targets() && asked.requests > 0) {
    // As a share of all requests that arrived: a rejected request meets no target.
    result.slo_met_fraction = static_cast<double>(met) / static_cast<double>(asked.requests);
    result.goodput_per_s = static_cast<double>(met);  // divided by the time when that is known
    const Fraction& enough = scenario.target_fraction;
    all_hold = all_hold && Wide{met} * enough.denominator >= Wide{asked.requests} * enough.numerator;
  }
  if (scenario.has_targets() && asked.requests > 0) result.slo_met = all_hold;
  result.saturation = saturation_of(records);
  result.records = std::move(records);
}

MemorySummary summarize_memory(const core::MemoryLayout& layout, const MemoryCounts& counts, Ticks makespan) {
  MemorySummary m;
  m.capacity_bytes = layout.capacity_bytes;
  const auto padding = static_cast<std::size_t>(observe::State::kPadding);
  for (std::size_t s = 0; s < kStates; ++s) {
    // Bytes x ticks exceed 2^127 only beyond any accepted pool and time.
    Wide byte_ticks = counts.cell_ticks[s] * layout.count_bytes();
    if (s == padding) byte_ticks += Wide{layout.padding_bytes()} * makespan.count;
    if (makespan.count > 0) {
      m.mean_bytes[s] = static_cast<double>(byte_ticks) / static_cast<double>(makespan.count);
      m.mean_fraction[s] = static_cast<double>(byte_ticks) /
                           (static_cast<double>(makespan.count) * static_cast<double>(layout.capacity_bytes));
    }
    m.peak_bytes[s] =
        counts.peak_cells[s] * layout.count_bytes() + (s == padding ? layout.padding_bytes() : 0);
  }
  for (std::size_t i = 0; i < observe::kOverlays; ++i) {
    const Wide byte_ticks = counts.overlay_ticks[i] * layout.count_bytes();
    if (makespan.count > 0)
      m.mean_overlay_bytes[i] = static_cast<double>(byte_ticks) / static_cast<double>(makespan.count);
    m.peak_overlay_bytes[i] = counts.peak_overlays[i] * layout.count_bytes();
  }
  const std::vector<model::LayerKind> kinds = layout.layer_kinds();
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    KindMemory& kind = m.kinds.emplace_back();
    kind.kind = kinds[k];
    for (std::size_t s = 0; s < kStates; ++s) {
      if (makespan.count > 0)
        kind.mean_bytes[s] = static_cast<double>(counts.kind_ticks[k][s] * layout.count_bytes()) /
                             static_cast<double>(makespan.count);
      kind.peak_bytes[s] = counts.peak_kinds[k][s] * layout.count_bytes();
    }
  }
  m.timed = makespan.count > 0;
  m.peak_time_s = seconds(counts.peak_time.since_start);
  return m;
}

void count_replicated(RunSummary& result) {
  if (!result.memory) return;
  const MemorySummary& memory = *result.memory;
  const auto live = index(observe::State::kLive);
  const std::int64_t kept_bytes = result.ranks.token_bytes - result.ranks.scale_bytes;
  const std::int64_t again = result.ranks.replicated_token_bytes;
  if (memory.timed)
    result.replicated_mean_bytes =
        memory.mean_bytes[live] / static_cast<double>(kept_bytes) * static_cast<double>(again);
  result.replicated_peak_bytes =
      static_cast<std::int64_t>(Wide{memory.peak_bytes[live]} * again / kept_bytes);
}

std::int64_t gpus_of(const RunSummary& r) {
  return r.ranks.ranks() * r.scenario.replicas;
}

std::optional<double> cost_per_million_output_tokens(const RunSummary& r) {
  constexpr double kSecondsPerHour = 3600;
  if (!r.cost || !r.output_tokens_per_s || *r.output_tokens_per_s <= 0) return std::nullopt;
  return r.cost->per_hour / (*r.output_tokens_per_s * kSecondsPerHour) * 1e6;
}

void sum_replicas(RunSummary& result) {
  const bool timed = result.makespan.count > 0;
  if (timed) {
    const double span_s = seconds(result.makespan);
    result.requests_per_s = static_cast<double>(result.completed) / span_s;
    result.output_tokens_per_s = static_cast<double>(result.output_tokens) / span_s;
    const Scenario& s = result.scenario;
    const double window_s = std::min(s.target_to_s.value_or(span_s), span_s) -
                            s.target_from_s.value_or(0);  // at most until the end of the run
    if (window_s <= 0) result.goodput_per_s.reset();
    if (result.goodput_per_s) *result.goodput_per_s /= window_s;
  } else {
    result.goodput_per_s.reset();
  }
  MemorySummary sum;
  sum.timed = timed;
  double running = 0;
  for (const ReplicaSummary& r : result.replicas) {
    if (!r.memory) return;  // nothing ever ran
    sum.capacity_bytes += r.memory->capacity_bytes;
    sum.peak_time_s = r.memory->peak_time_s;
    running += r.mean_running.value_or(0);
    for (std::size_t s = 0; s < kStates; ++s) {
      sum.mean_bytes[s] += r.memory->mean_bytes[s];
      sum.peak_bytes[s] += r.memory->peak_bytes[s];
      sum.mean_fraction[s] += r.memory->mean_fraction[s] / static_cast<double>(result.replicas.size());
    }
    for (std::size_t i = 0; i < observe::kOverlays; ++i) {
      sum.mean_overlay_bytes[i] += r.memory->mean_overlay_bytes[i];
      sum.peak_overlay_bytes[i] += r.memory->peak_overlay_bytes[i];
    }
    sum.kinds.resize(r.memory->kinds.size());
    for (std::size_t k = 0; k < sum.kinds.size(); ++k) {
      sum.kinds[k].kind = r.memory->kinds[k].kind;
      for (std::size_t s = 0; s < kStates; ++s) {
        sum.kinds[k].mean_bytes[s] += r.memory->kinds[k].mean_bytes[s];
        sum.kinds[k].peak_bytes[s] += r.memory->kinds[k].peak_bytes[s];
      }
    }
  }
  if (timed) result.mean_running = running;
  result.memory = sum;
}

}  // namespace kvplan::runs
