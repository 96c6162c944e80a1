#include "simulator/io/report_result.h"

#include <algorithm>
#include <cmath>

#include "proto/report.pb.h"
#include "simulator/io/report_body.h"
#include "simulator/io/report_timeline.h"
#include "simulator/io/scenario_message.h"

namespace kvplan::io {
namespace {

constexpr std::int64_t kMostNs = std::int64_t{1} << 52;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;  // with the above: sums over time fit 128 bits
using RowPlaces = std::array<std::size_t, observe::kTimelineRows>;

/// A number that may be missing: finite and not negative.
Result<std::optional<double>> number(bool present, double value, const char* key) {
  if (!present) return std::optional<double>{};
  if (!std::isfinite(value) || value < 0)
    return bad_input("expected a number that is not negative").at_field(key);
  return std::optional(value);
}

Result<std::optional<plan::LatencySummary>> latency(const v1::LatencyStatistics& from, const char* key) {
  if (!from.has_p50()) return std::optional<plan::LatencySummary>{};
  plan::LatencySummary to{from.mean(), from.p50(), from.p90(), from.p95(), from.p99(), from.max()};
  for (const double value : {to.mean, to.p50, to.p90, to.p95, to.p99, to.max}) {
    KVPLAN_TRY([[maybe_unused]] const auto checked, number(true, value, key));
  }
  return std::optional(to);
}

/// The keys "fits" and "saturation".
Status read_fits(const v1::Report& from, plan::RunResult& run) {
  constexpr double kMostDrainS = 1e6;  // some days more than time can hold
  const v1::ReportFits& fits = from.fits();
  if (fits.has_starts()) run.starts = fits.starts();
  if (fits.has_unhindered()) run.unhindered = fits.unhindered();
  for (const v1::ReportObstacle& each : fits.obstacles()) {
    model::Obstacle& obstacle = run.obstacles.emplace_back();
    obstacle.obstacle = each.obstacle();
    obstacle.need = each.need();
    obstacle.have = each.have();
    for (const Unit unit : {Unit::kBytes, Unit::kTokens, Unit::kBlocks})
      if (unit_name(unit) == each.unit()) obstacle.unit = unit;
    obstacle.remedies.assign(each.remedies().begin(), each.remedies().end());
  }
  const v1::ReportSaturation& s = from.saturation();
  if (!s.has_drain_s()) return Done{};
  KVPLAN_TRY(const auto drain_s, number(true, s.drain_s(), "saturation.drain_s"));
  if (*drain_s > kMostDrainS) return bad_input("expected at most 1e6 s").at_field("saturation.drain_s");
  if (s.backlog_at_end_of_arrivals_requests() < 0)
    return bad_input("expected a number that is not negative")
        .at_field("saturation.backlog_at_end_of_arrivals_requests");
  plan::Saturation& out = run.saturation.emplace();
  if (s.has_saturated()) out.saturated = s.saturated();
  out.backlog = s.backlog_at_end_of_arrivals_requests();
  out.drain = ticks_from_ns(std::llround(*drain_s * 1e9));
  return Done{};
}

Status read_numbers(const v1::Report& from, plan::RunResult& run) {
  run.trace_digest = from.trace().digest();
  run.trace_requests = from.trace().requests();
  run.warnings.assign(from.warnings().begin(), from.warnings().end());
  run.assumptions.assign(from.assumptions().begin(), from.assumptions().end());
  run.arrived = from.requests().arrived();
  run.completed = from.requests().completed();
  run.rejected = from.requests().rejected();
  run.unfinished = from.requests().unfinished();
  run.preempted = from.requests().preempted();
  run.preemptions = from.preemptions();
  run.iterations = from.iterations();
  run.input_tokens = from.tokens().input();
  run.output_tokens = from.tokens().output();
  run.computed_tokens = from.tokens().computed();
  run.recomputed_tokens = from.tokens().recomputed();
  run.prefix_hit_tokens = from.tokens().prefix_hit();
  run.rehit_tokens = from.tokens().rehit();
  run.max_running = from.batch().max_running();
  run.capacity_bytes = from.memory().capacity_bytes();
  if (run.capacity_bytes < 0 || run.capacity_bytes > kMostBytes)
    return bad_input("expected 0 to 2^56 bytes").at_field("memory.capacity_bytes");
  KVPLAN_TRY(const auto makespan_s, number(from.has_makespan_s(), from.makespan_s(), "makespan_s"));
  if (makespan_s.value_or(0) > static_cast<double>(kMostNs) * 1e-9)
    return bad_input("expected at most 2^52 ns").at_field("makespan_s");
  run.makespan = ticks_from_ns(std::llround(makespan_s.value_or(0) * 1e9));
  const v1::ReportBatch& batch = from.batch();
  KVPLAN_TRY(run.mean_running, number(batch.has_mean_running(), batch.mean_running(), "batch.mean_running"));
  const v1::ReportThroughput& rates = from.throughput();
  KVPLAN_TRY(run.requests_per_s,
             number(rates.has_requests_per_s(), rates.requests_per_s(), "throughput.requests_per_s"));
  KVPLAN_TRY(run.output_tokens_per_s, number(rates.has_output_tokens_per_s(), rates.output_tokens_per_s(),
                                             "throughput.output_tokens_per_s"));
  KVPLAN_TRY(run.ttft, latency(from.latency_s().ttft(), "latency_s.ttft"));
  KVPLAN_TRY(run.tpot, latency(from.latency_s().tpot(), "latency_s.tpot"));
  KVPLAN_TRY(run.e2e, latency(from.latency_s().e2e(), "latency_s.e2e"));
  KVPLAN_TRY(run.queue, latency(from.latency_s().queue(), "latency_s.queue"));
  const v1::ReportTargets& slo = from.slo();
  KVPLAN_TRY(run.slo_met_fraction, number(slo.has_met_fraction(), slo.met_fraction(), "slo.met_fraction"));
  KVPLAN_TRY(run.goodput_per_s, number(slo.has_goodput_per_s(), slo.goodput_per_s(), "slo.goodput_per_s"));
  if (slo.has_met()) run.slo_met = slo.met();
  return read_fits(from, run);
}

/// What was priced, as far as a report says it.
Status read_cost(const v1::Report& from, plan::RunResult& run) {
  constexpr std::int64_t kMostNodes = std::int64_t{1} << 31;
  if (!from.has_nodes() || !from.has_cost_per_hour()) return Done{};
  if (from.nodes() < 0 || from.nodes() > kMostNodes) return bad_input("expected 0 to 2^31").at_field("nodes");
  KVPLAN_TRY(const auto per_hour, number(true, from.cost_per_hour(), "cost_per_hour"));
  run.cost = plan::Cost{from.nodes(), *per_hour, from.currency(), {}};
  return Done{};
}

Result<ReportedRun> run_of(const v1::Report& message) {
  ReportedRun out;
  KVPLAN_TRY(out.settings, settings_of(message.scenario()));
  KVPLAN_TRY(out.run.scenario, plan::resolve(out.settings));
  KVPLAN_TRY_DO(read_numbers(message, out.run));
  KVPLAN_TRY_DO(read_cost(message, out.run));
  return out;
}

/// Where this version's rows stand among the file's.
Result<RowPlaces> places_of(const std::vector<std::string>& names) {
  RowPlaces places{};
  for (std::size_t row = 0; row < places.size(); ++row) {
    const auto at = std::find(names.begin(), names.end(), plan::timeline_row_name(row));
    if (at == names.end())
      return bad_input("expected a row \"" + std::string(plan::timeline_row_name(row)) +
                       "\" in the timeline");
    places[row] = static_cast<std::size_t>(at - names.begin());
  }
  return places;
}

Result<plan::BinNumbers> numbers_of(const NamedBin& from, const RowPlaces& places, std::int64_t capacity) {
  plan::BinNumbers to;
  to.begin_ns = from.begin_ns;
  to.end_ns = from.end_ns;
  if (to.begin_ns < 0 || to.end_ns > kMostNs) return bad_input("expected times from 0 to 2^52 ns");
  for (std::size_t row = 0; row < places.size(); ++row) {
    to.mean[row] = from.mean[places[row]];
    to.least[row] = from.least[places[row]];
    to.greatest[row] = from.greatest[places[row]];
    const std::int64_t most = row < observe::kStates ? capacity : INT32_MAX;
    const double slack = 1e-9 * static_cast<double>(to.greatest[row]);  // means are rounded
    const bool in_order = 0 <= to.least[row] && to.least[row] <= to.greatest[row] &&
                          to.greatest[row] <= most &&
                          to.mean[row] >= static_cast<double>(to.least[row]) - slack &&
                          to.mean[row] <= static_cast<double>(to.greatest[row]) + slack;
    // A bin without length has no mean.
    if (!in_order && to.begin_ns < to.end_ns)
      return bad_input("expected 0 <= least <= mean <= greatest <= " + std::to_string(most) + " in row \"" +
                       std::string(plan::timeline_row_name(row)) + "\" of the bin at " +
                       std::to_string(to.begin_ns) + " ns");
  }
  return to;
}

}  // namespace

Result<ReportedRun> read_reported_run(traces::Input& input, const BinVisitor& visit) {
  const auto placed = [&](Error error) { return std::move(error).at_file(input.path()); };
  if (!is_binary_report(input)) {
    KVPLAN_TRY(const v1::Report message, read_json_report(input));
    auto out = run_of(message);
    return out.ok() ? std::move(out) : placed(out.error());
  }
  DocumentReader reader(input);
  KVPLAN_TRY(const v1::Report message, read_report_body(reader));
  auto out = run_of(message);
  if (!out.ok()) return placed(out.error());
  TimelineBins bins;
  std::optional<RowPlaces> places;
  std::int64_t replica = -1;
  KVPLAN_TRY_DO(
      each_timeline_chunk(reader, [&](const auto& /*frame*/, const v1::TimelineChunk& chunk) -> Status {
        Status told = bins.add(chunk, [&](const NamedBin& bin) -> Status {
          if (!places) {
            KVPLAN_TRY(places, places_of(bins.names()));
          }
          if (bin.replica != replica && bin.begin_ns != 0) return bad_input("expected a first bin from 0 ns");
          replica = bin.replica;
          KVPLAN_TRY(const plan::BinNumbers numbers,
                     numbers_of(bin, *places, out.value().run.capacity_bytes));
          return visit(bin.replica, numbers);
        });
        if (told.ok() || told.error().kind != ErrorKind::kBadInput) return told;
        return reader.wrong(told.error().message);
      }));
  return out;
}

}  // namespace kvplan::io
