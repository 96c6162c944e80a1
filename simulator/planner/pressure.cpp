// How near the answer is to each of its limits over time: what binds, and when.
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulator/base/number_input.h"
#include "simulator/planner/around.h"
#include "simulator/report/chart_bins.h"

namespace kvplan::planner {
namespace {

constexpr std::size_t kParts = 48;

/// Values of bins, averaged over the parts.
std::vector<std::optional<double>> in_parts(const std::vector<double>& values) {
  std::vector<std::optional<double>> out(kParts);
  for (std::size_t part = 0; part < kParts; ++part) {
    const std::size_t begin = values.size() * part / kParts, end = values.size() * (part + 1) / kParts;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += values[i];
    if (end > begin) out[part] = sum / static_cast<double>(end - begin);
  }
  return out;
}

Pressure memory_pressure(const report::Bins& bins) {
  using observe::State;
  std::vector<double> held(bins.edges_s.size() - 1);
  for (std::size_t i = 0; i < held.size(); ++i) {
    double all = 0, unused = 0;
    for (std::size_t s = 0; s < observe::kStates; ++s) {
      all += bins.mean[s][i];
      const bool is_held = s != observe::index(State::kCached) && s != observe::index(State::kStranded) &&
                           s != observe::index(State::kFree);
      if (!is_held) unused += bins.mean[s][i];
    }
    held[i] = all > 0 ? 1 - unused / all : 0;
  }
  return {"KV memory", in_parts(held)};
}

/// "ttft.p99" as 99.
double percentile_of(const Target& target) {
  return parse_decimal(std::string_view(target.name).substr(target.name.find(".p") + 2)).value_or(100);
}

/// A target over the requests that arrive in each part, as a share of its limit.
Pressure target_pressure(const runs::RunResult& result, const Target& target, runs::LatencyKind kind,
                         double part_s) {
  std::vector<std::vector<double>> latencies(kParts);
  for (std::size_t i = 0; i < result.records.size(); ++i) {
    const auto& record = result.records[i];
    if (record.status == observe::RequestStatus::kNotArrived) continue;
    if (kind == runs::LatencyKind::kTpot && result.output[i] <= 1) continue;
    const double at = seconds(record.arrival.since_start);
    if (!result.scenario.in_window(at)) continue;
    const auto part = std::min(kParts - 1, static_cast<std::size_t>(at / part_s));
    latencies[part].push_back(record.status == observe::RequestStatus::kCompleted
                                  ? request_latency_s(result, i, kind)
                                  : std::numeric_limits<double>::infinity());
  }
  const double percentile = percentile_of(target);
  Pressure out{target.name, std::vector<std::optional<double>>(kParts)};
  for (std::size_t part = 0; part < kParts; ++part) {
    auto& values = latencies[part];
    if (values.empty()) continue;
    const auto n = static_cast<double>(values.size());
    const auto rank = static_cast<std::size_t>(std::clamp(std::ceil(percentile / 100 * n), 1.0, n)) - 1;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank), values.end());
    out.shares[part] = values[rank] / target.limit;
  }
  return out;
}

}  // namespace

std::vector<Pressure> pressure_of(const runs::RunResult& result, const std::vector<Target>& targets) {
  std::vector<Pressure> out;
  const bool timeline = !result.details.empty() && !result.details.front().timeline.empty();
  if (!timeline || result.makespan.count <= 0) return out;
  const report::Bins bins = report::bins_of(result);
  out.push_back(memory_pressure(bins));
  const scheduling::EngineLimit running = result.scenario.engine_traits().running;
  if (running.value > 0) {
    std::vector<double> shares = bins.mean[observe::kStates];
    for (double& share : shares)
      share /= static_cast<double>(running.value) * static_cast<double>(result.replicas.size());
    out.push_back({std::string(running.param), in_parts(shares)});
  }
  const double part_s = seconds(result.makespan) / static_cast<double>(kParts);
  for (const Target& target : targets)
    if (const auto kind = latency_kind(target.name); kind && target.kind == TargetKind::kPercentile)
      out.push_back(target_pressure(result, target, *kind, part_s));
  return out;
}

}  // namespace kvplan::planner
