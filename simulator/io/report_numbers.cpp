#include "simulator/io/report_numbers.h"

#include <array>
#include <cmath>

#include "proto/report.pb.h"
#include "simulator/model/footprint.h"

namespace kvplan::io {
namespace {

using observe::kOverlays;
using observe::kStates;

constexpr std::int64_t kMostReportBytes = std::int64_t{1} << 56;  // multiplied by times, sums fit 128 bits

Error wrong(const std::string& expected, const std::string& key) {
  return bad_input("expected " + expected).at_field(key);
}

/// A number that may be missing: finite and not negative.
Result<std::optional<double>> checked_number(bool present, double value, const std::string& key) {
  if (!present) return std::optional<double>{};
  if (!std::isfinite(value) || value < 0) return wrong("a number of at least 0", key);
  return std::optional(value);
}

Result<std::int64_t> bytes(std::int64_t value, const std::string& key) {
  if (value < 0 || value > kMostReportBytes) return wrong("0 to 2^56 bytes", key);
  return value;
}

/// Converts seconds to ticks. A file has the double nearest to a whole number of ticks; several whole numbers may have
/// the same nearest double.
Result<Ticks> ticks(bool present, double value, const std::string& key) {
  KVPLAN_TRY(const auto seconds_told, checked_number(present, value, key));
  const double told = seconds_told.value_or(0);
  if (told > static_cast<double>(kMostReportedNs) * 1e-9) return wrong("at most 2^52 ns", key);
  const std::int64_t near = std::llround(told * (1e9 * static_cast<double>(kTicksPerNs)));
  for (std::int64_t off = 0; off <= 1024; ++off)
    for (const std::int64_t count : {near + off, near - off})
      if (seconds(Ticks{count}) == told) return Ticks{count};
  return Ticks{near};
}

Result<std::optional<runs::LatencySummary>> latency(const v1::LatencyStatistics& from,
                                                    const std::string& key) {
  if (!from.has_p50()) return std::optional<runs::LatencySummary>{};
  runs::LatencySummary to{from.mean(), from.p50(), from.p90(), from.p95(), from.p99(), from.max()};
  for (const double value : {to.mean, to.p50, to.p90, to.p95, to.p99, to.max}) {
    KVPLAN_TRY([[maybe_unused]] const auto checked, checked_number(true, value, key));
  }
  return std::optional(to);
}

/// Seconds or shares.
template <class Message>
Result<std::array<double, runs::kStepTimeNames.size()>> step_parts(const Message& m) {
  const std::array<double, runs::kStepTimeNames.size()> out{
      m.weights(), m.experts(),  m.decode_attention(), m.prefill_attention(),
      m.links(),   m.launches(), m.outside()};
  for (const double value : out) {
    KVPLAN_TRY([[maybe_unused]] const auto checked, checked_number(true, value, "step_time"));
  }
  return out;
}

Result<std::optional<runs::StepTimeSummary>> step_time(const v1::Report& from) {
  if (!from.has_step_time()) return std::optional<runs::StepTimeSummary>{};
  runs::StepTimeSummary to;
  KVPLAN_TRY(to.seconds, step_parts(from.step_time()));
  KVPLAN_TRY(to.shares, step_parts(from.step_time().shares()));
  return std::optional(to);
}

// Numbers of states and overlays, in the order of observe::State and observe::kOverlayNames.

std::array<double, kStates> states(const v1::StateNumbers& m) {
  return {m.metadata(), m.live(),     m.reserved(), m.hole(),     m.tail(),
          m.padding(),  m.internal(), m.cached(),   m.stranded(), m.free()};
}
observe::StateCounts states(const v1::StateBytes& m) {
  return {m.metadata(), m.live(),     m.reserved(), m.hole(),     m.tail(),
          m.padding(),  m.internal(), m.cached(),   m.stranded(), m.free()};
}
std::array<double, kOverlays> overlays(const v1::OverlayNumbers& m) {
  return {m.available(),        m.stranded_too_short(), m.stranded_fragmented(),
          m.cached_duplicate(), m.cached_unreachable(), m.saved_by_sharing()};
}
observe::OverlayCounts overlays(const v1::OverlayBytes& m) {
  return {m.available(),        m.stranded_too_short(), m.stranded_fragmented(),
          m.cached_duplicate(), m.cached_unreachable(), m.saved_by_sharing()};
}
template <class Numbers, class To>
void held(const Numbers& m, To& to) {
  const std::array values{m.metadata(), m.live(),    m.reserved(), m.hole(),
                          m.tail(),     m.padding(), m.internal()};
  static_assert(observe::kHeldStates.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) to[observe::kHeldStates[i]] = values[i];
}

template <class Numbers>
Status check_numbers(const Numbers& numbers, const std::string& key) {
  for (const auto value : numbers) {
    KVPLAN_TRY([[maybe_unused]] const auto real, checked_number(true, static_cast<double>(value), key));
    if (static_cast<double>(value) > static_cast<double>(kMostReportBytes))
      return wrong("at most 2^56 bytes", key);
  }
  return Done{};
}

Result<runs::KindMemory> kind_of(const v1::LayerGroupMemory& from, const std::string& key) {
  runs::KindMemory kind;
  kind.kind = {.window = from.window_tokens(),
               .groups = from.groups(),
               .layers = from.layers(),
               .states = from.states()};
  held(from.mean_bytes(), kind.mean_bytes);
  held(from.peak_bytes(), kind.peak_bytes);
  KVPLAN_TRY_DO(check_numbers(kind.mean_bytes, key));
  KVPLAN_TRY_DO(check_numbers(kind.peak_bytes, key));
  return kind;
}

/// Returns nothing if no step ever ran.
Result<std::optional<runs::MemorySummary>> memory(const v1::ReportMemory& from, const std::string& key) {
  KVPLAN_TRY(const std::int64_t capacity, bytes(from.capacity_bytes(), key + ".capacity_bytes"));
  if (!from.peak().has_time_s()) return std::optional<runs::MemorySummary>{};
  runs::MemorySummary to;
  to.capacity_bytes = capacity;
  to.timed = from.mean_bytes().has_live();
  to.mean_bytes = states(from.mean_bytes());
  to.mean_fraction = states(from.mean_fraction());
  KVPLAN_TRY(const auto peak, checked_number(true, from.peak().time_s(), key + ".peak.time_s"));
  to.peak_time_s = *peak;
  to.peak_bytes = states(from.peak().bytes());
  to.mean_overlay_bytes = overlays(from.overlays().mean_bytes());
  to.peak_overlay_bytes = overlays(from.overlays().peak_bytes());
  KVPLAN_TRY_DO(check_numbers(to.mean_bytes, key + ".mean_bytes"));
  KVPLAN_TRY_DO(check_numbers(to.mean_fraction, key + ".mean_fraction"));
  KVPLAN_TRY_DO(check_numbers(to.peak_bytes, key + ".peak.bytes"));
  KVPLAN_TRY_DO(check_numbers(to.mean_overlay_bytes, key + ".overlays.mean_bytes"));
  KVPLAN_TRY_DO(check_numbers(to.peak_overlay_bytes, key + ".overlays.peak_bytes"));
  for (const v1::LayerGroupMemory& kind : from.layer_groups()) {
    KVPLAN_TRY(runs::KindMemory read, kind_of(kind, key + ".layer_groups"));
    to.kinds.push_back(read);
  }
  return std::optional(std::move(to));
}

/// The enum value with this name.
template <class Enum, std::size_t N>
Result<Enum> named(const std::array<Enum, N>& all, std::string_view (*name)(Enum), const std::string& found,
                   const char* key) {
  std::string names;
  for (const Enum one : all) {
    if (name(one) == found) return one;
    names.append(names.empty() ? "" : ", ").append(name(one));
  }
  return wrong("one of " + names + ", found \"" + found.substr(0, 40) + "\"", key);
}

Status read_deployment(const v1::ReportDeployment& from, runs::RunSummary& run) {
  runs::RankBytes& ranks = run.ranks;
  if (from.tensor_parallel() < 1 || from.tensor_parallel() > model::kMostRanks)
    return wrong("1 to 65,536 ranks", "deployment.tensor_parallel");
  if (from.pipeline_parallel() < 1 || from.pipeline_parallel() > 4096)
    return wrong("1 to 4,096 stages", "deployment.pipeline_parallel");
  ranks.tensor_ranks = from.tensor_parallel();
  ranks.stages = from.pipeline_parallel();
  ranks.stage = from.stage();
  KVPLAN_TRY(ranks.token_bytes, bytes(from.token_bytes(), "deployment.token_bytes"));
  KVPLAN_TRY(ranks.all_token_bytes, bytes(from.all_token_bytes(), "deployment.all_token_bytes"));
  KVPLAN_TRY(ranks.replicated_token_bytes,
             bytes(from.replicated_token_bytes(), "deployment.replicated_token_bytes"));
  KVPLAN_TRY(run.replicated_mean_bytes,
             checked_number(from.has_replicated_mean_bytes(), from.replicated_mean_bytes(),
                            "deployment.replicated_mean_bytes"));
  if (from.has_replicated_peak_bytes()) run.replicated_peak_bytes = from.replicated_peak_bytes();
  using model::Mark;
  using model::PoolPart;
  constexpr std::array kParts{PoolPart::kTotal, PoolPart::kTaken, PoolPart::kWithin, PoolPart::kPool};
  constexpr std::array kMarks{Mark::kMeasured, Mark::kPublished, Mark::kAssumed,
                              Mark::kComputed, Mark::kFitted,    Mark::kGiven};
  for (const v1::ReportPoolItem& item : from.derivation()) {
    model::PoolItem to{.name = item.name(), .bytes = item.bytes(), .source = item.source()};
    KVPLAN_TRY(to.part, named(kParts, model::pool_part_name, item.part(), "deployment.derivation.part"));
    KVPLAN_TRY(to.mark, named(kMarks, model::mark_name, item.mark(), "deployment.derivation.mark"));
    to.low = item.has_low() ? item.low() : to.bytes;  // reports from before there were intervals
    to.high = item.has_high() ? item.high() : to.bytes;
    run.derivation.push_back(std::move(to));
  }
  return Done{};
}

Status read_policies(const v1::Report& from, runs::RunSummary& run) {
  run.evicted_tokens = from.evictions().tokens();
  run.evicted_blocks = from.evictions().blocks_freed();
  run.hole_bytes_peak = from.evictions().hole_bytes_peak();
  run.compactions = from.evictions().compactions();
  run.compaction_bytes = from.evictions().compaction_bytes();
  const v1::ReportPlacement& placed = from.placement();
  run.placing.copies = placed.copies();
  run.placing.copied_bytes = placed.copied_bytes();
  run.placing.compactions = placed.compactions();
  run.placing.compaction_bytes = placed.compaction_bytes();
  KVPLAN_TRY(run.placing.delay, ticks(placed.has_delay_s(), placed.delay_s(), "placement.delay_s"));
  KVPLAN_TRY(run.placing.delay_fraction, checked_number(placed.has_delay_fraction(), placed.delay_fraction(),
                                                        "placement.delay_fraction"));
  if (from.has_answers()) {
    const v1::ReportAnswers& answers = from.answers();
    if (answers.prompts() < 1) return wrong("a positive number", "answers.prompts");
    run.answers = workload::AnswerCounts{answers.prompts(), answers.later_turns(), answers.held()};
  }
  if (!from.has_coverage()) return Done{};
  const v1::ReportCoverage& covered = from.coverage();
  runs::Coverage to{.recordings = covered.recordings(),
                    .used = covered.used(),
                    .driven_requests = covered.driven_requests(),
                    .extrapolated_requests = covered.extrapolated_requests(),
                    .driven_request_fraction = {},
                    .driven_byte_seconds_fraction = {}};
  KVPLAN_TRY(to.driven_request_fraction,
             checked_number(covered.has_driven_request_fraction(), covered.driven_request_fraction(),
                            "coverage.driven_request_fraction"));
  KVPLAN_TRY(to.driven_byte_seconds_fraction,
             checked_number(covered.has_driven_byte_seconds_fraction(),
                            covered.driven_byte_seconds_fraction(), "coverage.driven_byte_seconds_fraction"));
  run.coverage = to;
  return Done{};
}

Status read_fits(const v1::ReportFits& from, runs::RunSummary& run) {
  if (from.has_starts()) run.starts = from.starts();
  if (from.has_unhindered()) run.unhindered = from.unhindered();
  for (const v1::ReportPercentile& each : from.percentiles()) {
    runs::PercentileOutcome& outcome = run.percentiles.emplace_back();
    outcome.name = each.percentile();
    KVPLAN_TRY(const auto need, checked_number(true, each.need_s(), "fits.percentiles.need_s"));
    outcome.need_s = *need;
    if (outcome.need_s <= 0) return wrong("a positive number", "fits.percentiles.need_s");
    KVPLAN_TRY(outcome.have_s, checked_number(each.has_have_s(), each.have_s(), "fits.percentiles.have_s"));
    if (each.has_holds()) outcome.holds = each.holds();
  }
  constexpr std::array kUnits{Unit::kBytes, Unit::kTokens, Unit::kBlocks};
  for (const v1::ReportObstacle& each : from.obstacles()) {
    model::Obstacle& obstacle = run.obstacles.emplace_back();
    obstacle.obstacle = each.obstacle();
    obstacle.need = each.need();
    obstacle.have = each.have();
    KVPLAN_TRY(obstacle.unit, named(kUnits, unit_name, each.unit(), "fits.obstacles.unit"));
    obstacle.remedies.assign(each.remedies().begin(), each.remedies().end());
  }
  return Done{};
}

Status read_saturation(const v1::ReportSaturation& from, runs::RunSummary& run) {
  if (!from.has_drain_s()) return Done{};
  runs::Saturation& to = run.saturation.emplace();
  if (from.has_saturated()) to.saturated = from.saturated();
  to.backlog = from.backlog_at_end_of_arrivals_requests();
  if (to.backlog < 0)
    return wrong("a number of at least 0", "saturation.backlog_at_end_of_arrivals_requests");
  KVPLAN_TRY(to.drain, ticks(true, from.drain_s(), "saturation.drain_s"));
  return Done{};
}

/// Reads what was priced, as far as a report says it.
Status read_cost(const v1::Report& from, runs::RunSummary& run) {
  if (!from.has_nodes() || !from.has_cost_per_hour()) return Done{};
  if (from.nodes() < 0 || from.nodes() > std::int64_t{1} << 31) return wrong("0 to 2^31", "nodes");
  KVPLAN_TRY(const auto per_hour, checked_number(true, from.cost_per_hour(), "cost_per_hour"));
  run.cost = runs::Cost{from.nodes(), *per_hour, from.currency(), {}};
  return Done{};
}

Result<runs::ReplicaSummary> replica_of(const v1::ReportReplica& from) {
  runs::ReplicaSummary to;
  to.requests = from.requests();
  to.completed = from.completed();
  to.preemptions = from.preemptions();
  to.iterations = from.iterations();
  KVPLAN_TRY(to.mean_running, checked_number(from.batch().has_mean_running(), from.batch().mean_running(),
                                             "replicas.batch.mean_running"));
  to.max_running = from.batch().max_running();
  runs::PoolShape& pool = to.pool;
  pool.alloc_unit_tokens = from.quantum_tokens();
  if (pool.alloc_unit_tokens < 1) return wrong("1 or more", "replicas.quantum_tokens");
  KVPLAN_TRY(pool.alloc_unit_bytes, bytes(from.quantum_bytes(), "replicas.quantum_bytes"));
  pool.alloc_units = from.quanta();
  KVPLAN_TRY(pool.token_bytes, bytes(from.token_bytes(), "replicas.token_bytes"));
  KVPLAN_TRY(pool.metadata_bytes_per_token,
             bytes(from.metadata_bytes_per_token(), "replicas.metadata_bytes_per_token"));
  KVPLAN_TRY(to.least_idle_bytes, bytes(from.least_idle_bytes(), "replicas.least_idle_bytes"));
  KVPLAN_TRY(to.memory, memory(from.memory(), "replicas.memory"));
  pool.capacity_bytes = from.memory().capacity_bytes();
  return to;
}

Status read_requests(const v1::Report& from, runs::RunSummary& run) {
  run.trace_digest = from.trace().digest();
  run.trace_requests = from.trace().requests();
  run.warnings.assign(from.warnings().begin(), from.warnings().end());
  run.assumptions.assign(from.assumptions().begin(), from.assumptions().end());
  run.arrived = from.requests().arrived();
  run.completed = from.requests().completed();
  run.rejected = from.requests().rejected();
  run.unfinished = from.requests().unfinished();
  run.preempted = from.requests().preempted();
  run.largest_request_tokens = from.requests().largest_tokens();
  if (run.largest_request_tokens < 0 || run.largest_request_tokens > std::int64_t{1} << 32)
    return wrong("0 to 2^32", "requests.largest_tokens");
  run.preemptions = from.preemptions();
  run.iterations = from.iterations();
  run.input_tokens = from.tokens().input();
  run.output_tokens = from.tokens().output();
  run.computed_tokens = from.tokens().computed();
  run.recomputed_tokens = from.tokens().recomputed();
  run.prefix_hit_tokens = from.tokens().prefix_hit();
  run.rehit_tokens = from.tokens().rehit();
  run.max_running = from.batch().max_running();
  KVPLAN_TRY(run.makespan, ticks(from.has_makespan_s(), from.makespan_s(), "makespan_s"));
  const v1::ReportBatch& batch = from.batch();
  KVPLAN_TRY(run.mean_running,
             checked_number(batch.has_mean_running(), batch.mean_running(), "batch.mean_running"));
  const v1::ReportThroughput& rates = from.throughput();
  KVPLAN_TRY(run.requests_per_s,
             checked_number(rates.has_requests_per_s(), rates.requests_per_s(), "throughput.requests_per_s"));
  KVPLAN_TRY(run.output_tokens_per_s,
             checked_number(rates.has_output_tokens_per_s(), rates.output_tokens_per_s(),
                            "throughput.output_tokens_per_s"));
  KVPLAN_TRY(run.ttft, latency(from.latency_s().ttft(), "latency_s.ttft"));
  KVPLAN_TRY(run.tpot, latency(from.latency_s().tpot(), "latency_s.tpot"));
  KVPLAN_TRY(run.e2e, latency(from.latency_s().e2e(), "latency_s.e2e"));
  KVPLAN_TRY(run.queue, latency(from.latency_s().queue(), "latency_s.queue"));
  KVPLAN_TRY(run.step_time, step_time(from));
  const v1::ReportTargets& slo = from.slo();
  KVPLAN_TRY(run.slo_met_fraction,
             checked_number(slo.has_met_fraction(), slo.met_fraction(), "slo.met_fraction"));
  KVPLAN_TRY(run.goodput_per_s,
             checked_number(slo.has_goodput_per_s(), slo.goodput_per_s(), "slo.goodput_per_s"));
  if (slo.has_met()) run.slo_met = slo.met();
  return Done{};
}

}  // namespace

Status read_numbers(const v1::Report& report, runs::RunSummary& run) {
  KVPLAN_TRY_DO(read_requests(report, run));
  KVPLAN_TRY(run.memory, memory(report.memory(), "memory"));
  run.capacity_bytes = report.memory().capacity_bytes();
  KVPLAN_TRY_DO(read_deployment(report.deployment(), run));
  KVPLAN_TRY_DO(read_policies(report, run));
  for (const v1::ReportReplica& replica : report.replicas()) {
    KVPLAN_TRY(runs::ReplicaSummary to, replica_of(replica));
    run.replicas.push_back(std::move(to));
  }
  KVPLAN_TRY_DO(read_fits(report.fits(), run));
  KVPLAN_TRY_DO(read_saturation(report.saturation(), run));
  return read_cost(report, run);
}

}  // namespace kvplan::io
