#include "simulator/plan/run.h"

#include <algorithm>
#include <optional>

#include "simulator/base/check.h"
#include "simulator/latency/latencies.h"
#include "simulator/observe/integral.h"
#include "simulator/observe/placement.h"
#include "simulator/plan/summary.h"
#include "simulator/routing/routers.h"
#include "simulator/scheduling/engines.h"
#include "simulator/workload/closed_loops.h"

namespace kvplan::plan {
namespace {

using observe::kStates;

constexpr std::int64_t kMostBins = std::int64_t{1} << 22;

/// Sums over a replica's whole run.
struct Totals {
  std::array<Wide, kStates> cell_ticks{};
  Wide running_ticks{0};
  std::int64_t max_running{0};

  Totals() = default;
  explicit Totals(const observe::Integrals& integrals)
      : cell_ticks(integrals.cell_ticks()),
        running_ticks(integrals.running_ticks()),
        max_running(integrals.max_running()) {}
  /// Bins that cover the run have the same sums.
  explicit Totals(const observe::Timeline& timeline) : max_running(timeline.max_running()) {
    for (const observe::TimelineBin& bin : timeline.bins()) {
      for (std::size_t s = 0; s < kStates; ++s) cell_ticks[s] += bin.value_ticks[s];
      running_ticks += bin.value_ticks[kStates];
    }
  }
};

/// Bins whose width may still change need no end.
bool timeline_in_first_run(const Scenario& scenario, const RunOptions& options) {
  return options.timeline_bins > 0 && options.timeline_joined && scenario.replicas == 1;
}

/// The states at one instant, and timelines, need the end of the whole run: a second, equal run gives them.
bool needs_second_run(const Scenario& scenario, const RunOptions& options) {
  return scenario.replicas > 1 || (options.timeline_bins > 0 && !timeline_in_first_run(scenario, options));
}

/// What one replica's run leaves behind.
struct ReplicaOutcome {
  core::MemoryLayout layout;
  Totals totals;
  observe::Peak peak;
  std::optional<observe::Overlays> overlays;
  std::optional<observe::KindSums> kinds;  // where layers lie in groups
  ChangeLog changes;
  std::optional<observe::Timeline> timeline;
  observe::EvictionCounts evictions;
  observe::PlacementCounts placement;
  std::vector<bool> used;  // recordings
  std::int64_t iterations{0};
  std::int64_t computed_tokens{0};
  SimTime end{};
};

/// Everything that is the same for all replicas of a run.
struct Setup {
  const Scenario& scenario;
  const RunOptions& options;
  core::Workload workload;
  TokenPlan tokens;
  std::unique_ptr<core::LatencyModel> latency;
  /// Requests of each replica: those that wait for nobody in order of arrival, behind them all others.
  std::vector<std::vector<RequestId>> shares;
};

memory::PoolSize pool_of(const Setup& setup) {
  const auto& derived = setup.tokens.placed.pool;
  return derived ? memory::PoolSize{.bytes = derived->rank().pool_bytes} : setup.scenario.pool;
}

Result<std::unique_ptr<core::Allocator>> make_allocator(const Setup& setup) {
  const Scenario& s = setup.scenario;
  const memory::AllocatorRequest request{.workload = &setup.workload,
                                         .pool = pool_of(setup),
                                         .token_bytes = setup.tokens.token_bytes(),
                                         .cells_per_token = setup.tokens.units.per_token,
                                         .metadata_bytes = setup.tokens.units.metadata_bytes,
                                         .model = &setup.tokens.model,
                                         .format = s.deployment.format ? &*s.deployment.format : nullptr,
                                         .tensor_ranks = s.deployment.tensor_ranks,
                                         .first_layer = setup.tokens.placed.bytes.first_layer,
                                         .layers = setup.tokens.placed.bytes.layers,
                                         .step_tokens = step_tokens(s),
                                         .prefix_cache = s.finds_prefixes(),
                                         .block_ids = !setup.options.extra_observers.empty(),
                                         .max_model_len = s.engine.integer("max_model_len")};
  const auto& entry = memory::allocator_entry(s.allocator);
  if (entry.follows_windows && s.eviction && (s.keep.evicts() || setup.tokens.policy))
    return bad_input("the allocator \"" + std::string(s.allocator.name()) +
                     "\" keeps what the windows of layers show; it follows no token policy, found " +
                     std::string(s.eviction->name()))
        .at_field("eviction");
  KVPLAN_TRY(auto allocator, setup.options.step_by_step ? entry.make_model(s.allocator, request)
                                                        : entry.make(s.allocator, request));
  if (setup.tokens.policy && allocator->layout().form != core::TableForm::kTokens)
    return bad_input(
               "the allocator \"" + std::string(s.allocator.name()) +
               "\" takes memory in bytes, not in cells of tokens: of token policies it serves window and "
               "streaming-llm with placement=holes")
        .at_field("eviction");
  if (setup.tokens.policy && allocator->growth_tokens() < 0)
    return bad_input(
               "expected memory that is granted in blocks or whole: \"" + std::string(s.allocator.name()) +
               "\" grows at places where a replayed policy, or one that uses cells again, is not followed")
        .at_field("memory.allocator");
  return allocator;
}

/// One run of one replica with the given sinks and observers. Returns the last tick that it reached.
Result<SimTime> run_replica(const Setup& setup, std::size_t replica, core::Allocator& allocator,
                            std::vector<observe::LedgerSink*> sinks, std::vector<core::Observer*> observers,
                            observe::EvictionCounts* evictions, std::vector<bool>* used, SimTime extend_to,
                            bool with_extra) {
  observe::Ledger ledger(setup.workload, allocator.layout(), setup.scenario.keep, std::move(sinks));
  observers.insert(observers.begin(), &ledger);
  for (const ObserverMaker& make : setup.options.extra_observers) {
    if (!with_extra) break;
    KVPLAN_TRY(core::Observer* const extra,
               make(static_cast<std::int64_t>(replica), setup.workload, ledger, allocator));
    observers.push_back(extra);
  }
  std::optional<RunCourses> courses;
  if (setup.tokens.policy)
    courses.emplace(setup.tokens, setup.workload, allocator.layout(), setup.options.control);
  const core::ReplicaRun run{.workload = &setup.workload,
                             .requests = setup.shares[replica],
                             .scheduler = scheduling::scheduler_params(setup.scenario.engine),
                             .keep = setup.scenario.keep,
                             .courses = courses ? &*courses : nullptr,
                             .allocator = &allocator,
                             .latency = setup.latency.get(),
                             .observers = observers,
                             .control = setup.options.control};
  KVPLAN_TRY_DO(setup.options.step_by_step ? core::run_naive(run) : core::run_fast(run));
  ledger.extend_to(extend_to);
  if (evictions != nullptr) *evictions = ledger.evictions();
  if (used != nullptr && courses) *used = courses->used();
  return ledger.end();
}

/// The latest arrival at a time of its own that is not rejected: the replica's run does not end before it.
SimTime last_served_arrival(const Setup& setup, std::size_t replica, const core::Allocator& allocator) {
  const core::Workload& workload = setup.workload;
  const std::int64_t longest = setup.scenario.engine.integer("max_model_len");
  const auto& share = setup.shares[replica];
  const auto last = std::find_if(share.rbegin(), share.rend(), [&](RequestId r) {
    const bool waits = workload.turns.present() && workload.turns.waits_for[static_cast<std::size_t>(r)] > 0;
    return !waits && core::is_served(workload, r, longest, allocator);
  });
  return last == share.rend() ? SimTime{} : workload.arrival[static_cast<std::size_t>(*last)];
}

/// REQUIRES: prefix caching is asked for and does not happen.
std::string why_no_prefixes(const Scenario& scenario, const TokenPlan& tokens) {
  if (!memory::allocator_entry(scenario.allocator).shares_prefixes)
    return "prefix_cache is ignored: the allocator \"" + std::string(scenario.allocator.name()) +
           "\" shares nothing between requests.";
  if (tokens.recordings.empty())
    return "prefix_cache is ignored: placement=reuse writes into blocks that others could have found.";
  return "prefix_cache is ignored: a replayed policy has seen the attention of its recording's own prompt, "
         "which found blocks do not bring.";
}

/// Asks the router for a replica of each request; of those that waits join, only of the first that arrives, since
/// replicas run apart.
void share_out(Setup& setup) {
  const Scenario& scenario = setup.scenario;
  const core::Workload& workload = setup.workload;
  setup.shares.resize(static_cast<std::size_t>(scenario.replicas));
  const auto router =
      routing::router_entry(scenario.router).make(scenario.router, workload, scenario.replicas);
  if (!workload.turns.present()) {
    for (const RequestId request : workload.order)
      setup.shares.at(static_cast<std::size_t>(router->route(request))).push_back(request);
    return;
  }
  constexpr std::int64_t kNowhere = -1;
  std::vector<std::int64_t> replica_of(workload.input.size(), kNowhere);
  const auto replica = [&](RequestId r) -> std::int64_t& {
    return replica_of[static_cast<std::size_t>(workload.turns.group[static_cast<std::size_t>(r)])];
  };
  const auto waits = [&](RequestId r) { return workload.turns.waits_for[static_cast<std::size_t>(r)] > 0; };
  for (const RequestId request : workload.order) {
    if (waits(request)) continue;
    if (replica(request) == kNowhere) replica(request) = router->route(request);
    setup.shares.at(static_cast<std::size_t>(replica(request))).push_back(request);
  }
  for (const RequestId request : workload.order)
    if (waits(request)) setup.shares.at(static_cast<std::size_t>(replica(request))).push_back(request);
}

Result<std::unique_ptr<core::LatencyModel>> make_latency(const Scenario& scenario, const TokenPlan& tokens,
                                                         const RunOptions& options,
                                                         std::vector<std::string>& assumptions) {
  latency::LatencyRequest request{.model = tokens.model,
                                  .tensor_ranks = scenario.deployment.tensor_ranks,
                                  .stages = scenario.deployment.stages,
                                  .token_bytes = tokens.placed.step_token_bytes,
                                  .weight_bits = scenario.deployment.bits_of(tokens.model),
                                  .weights_bytes = scenario.deployment.weights_bytes};
  std::optional<MeasuredSteps> measured;
  if (scenario.latency.name() == "calibrated" && options.open_steps) {
    KVPLAN_TRY(measured, options.open_steps(scenario.latency.text("file"), tokens.model.name));
    request.measured = &measured->table;
    for (std::string& sentence : measured->assumptions) assumptions.push_back(std::move(sentence));
    if (const std::int64_t ranks = request.tensor_ranks * request.stages; ranks > 1)
      assumptions.push_back("The measured step times are taken to be those of " + std::to_string(ranks) +
                            " ranks together.");
    if (memory::allocator_entry(scenario.allocator).follows_windows && tokens.model.window_layers() > 0)
      assumptions.emplace_back(
          "Measured steps are looked up by all tokens of the context, those outside windows too: the engine "
          "that was "
          "measured is taken to read what windows show.");
  }
  return latency::latency_entry(scenario.latency).make(scenario.latency, request);
}

Result<Setup> prepare(const Scenario& scenario, const traces::Trace& trace, const RunOptions& options,
                      RunResult& result) {
  if (trace.size() > INT32_MAX) return bad_input("expected at most 2^31 requests").at_field("workload.trace");
  Setup setup{scenario, options, {}, {}, {}, {}};
  KVPLAN_TRY(setup.tokens, make_token_plan(scenario, options.open_recording, options.open_model,
                                           result.warnings, result.assumptions));
  if (scenario.engine.flag("prefix_cache") && !scenario.finds_prefixes())
    result.warnings.push_back(why_no_prefixes(scenario, setup.tokens));
  if (scenario.keeps_nothing() && scenario.engine.integer("long_prefill_threshold") > 0)
    result.warnings.emplace_back(
        "long_prefill_threshold is ignored: where nothing is kept a prompt cannot be computed in pieces.");
  if (scenario.finds_prefixes() && !trace.prefix.present())
    result.assumptions.emplace_back(
        "The trace does not say which prompts begin alike: what is cached can be hit only by a request that "
        "was preempted, in its own blocks.");
  KVPLAN_TRY(setup.workload, workload::build_workload(trace, scenario.rate_scale, scenario.limit));
  if (!scenario.finds_prefixes()) setup.workload.prefix = nullptr;
  KVPLAN_TRY(setup.latency, make_latency(scenario, setup.tokens, options, result.assumptions));
  KVPLAN_TRY(const workload::LoopCounts loops,
             workload::close_loops(trace, workload::session_rule(scenario.sessions), scenario.rate_scale,
                                   setup.workload));
  for (std::string& sentence : workload::describe(loops)) result.assumptions.push_back(std::move(sentence));
  if (loops.waiting > 0 && scenario.replicas > 1)
    result.assumptions.emplace_back(
        "Turns that wait are served by the replica of their session's first request.");
  share_out(setup);
  return setup;
}

/// Whoever is admitted in a replayed run is driven: it is refused otherwise.
Coverage coverage_of(const Setup& setup, const std::vector<ReplicaOutcome>& outcomes,
                     const RunResult& result) {
  Coverage c;
  c.recordings = static_cast<std::int64_t>(setup.tokens.recordings.size());
  for (std::size_t i = 0; i < setup.tokens.recordings.size(); ++i)
    c.used +=
        std::any_of(outcomes.begin(), outcomes.end(), [&](const ReplicaOutcome& o) { return o.used[i]; });
  for (const observe::RequestRecord& record : result.records) c.driven_requests += record.scheduled ? 1 : 0;
  if (c.driven_requests > 0) c.driven_request_fraction = 1;
  if (c.driven_requests > 0 && result.makespan.count > 0) c.driven_byte_seconds_fraction = 1;
  return c;
}

void note_assumptions(const Scenario& scenario, RunResult& result) {
  result.assumptions.emplace_back("Output lengths are those of the trace, whatever the policy keeps.");
  if (scenario.origin("memory.pool_bytes") == Origin::kDefault && scenario.pool.bytes >= 0)
    result.assumptions.emplace_back(
        "memory.pool_bytes is a default, not derived from a device: give deployment.device, or the pool you "
        "have.");
  if (scenario.keeps_nothing())
    result.assumptions.emplace_back(
        "Nothing is kept: every step computes all tokens of its requests again, without padding. A prompt is "
        "computed "
        "whole; the token budget counts it when it is admitted, and one token of each request in every step "
        "after.");
  const std::string_view step_times = latency::latency_entry(scenario.latency).assumption;
  if (!step_times.empty()) result.assumptions.emplace_back(step_times);
}

RunResult begin_result(const Scenario& scenario, const traces::Trace& trace) {
  RunResult result;
  result.scenario = scenario;
  result.trace_digest = trace.digest;
  result.trace_requests = trace.size();
  result.warnings = trace.provenance.warnings;
  note_assumptions(scenario, result);
  return result;
}

/// A bin takes some 400 bytes.
Status check_bins(std::int64_t bins, std::size_t replicas) {
  if (bins <= kMostBins / static_cast<std::int64_t>(replicas)) return Done{};
  return bad_input("expected at most " + std::to_string(kMostBins) + " bins over all replicas, found " +
                   std::to_string(bins) + " for each of " + std::to_string(replicas))
      .at_field("timeline bins");
}

/// The first run of a replica, with everything that does not need the end of the others.
/// `held`: null where nobody asks what each request held.
Status run_first(const Setup& setup, std::size_t replica, observe::RequestRecords& records,
                 observe::RequestMemory* held, ReplicaOutcome& o) {
  KVPLAN_TRY(const auto allocator, make_allocator(setup));
  o.layout = allocator->layout();
  observe::Integrals integrals;
  std::vector<observe::LedgerSink*> sinks{&o.peak, &o.overlays.emplace(o.layout, o.peak)};
  if (!o.layout.groups.empty()) sinks.push_back(&o.kinds.emplace(o.layout, o.peak));
  if (setup.shares.size() > 1) sinks.push_back(&o.changes);
  if (timeline_in_first_run(setup.scenario, setup.options)) {
    sinks.push_back(&o.timeline.emplace(observe::Timeline::joined(
        setup.options.timeline_bins, last_served_arrival(setup, replica, *allocator))));
  } else {
    sinks.push_back(&integrals);
  }
  const std::int64_t iterations = records.iterations();
  if (replica == 0)
    KVPLAN_TRY_DO(check_recordings(setup.tokens, setup.workload, *allocator,
                                   setup.scenario.engine.integer("max_model_len")));
  observe::PlacementRecords placement;
  std::vector<core::Observer*> observers{&records};
  if (held != nullptr) {
    held->set_quantum_tokens(o.layout.quantum_tokens);
    observers.push_back(held);
  }
  if (o.layout.costs) observers.push_back(&placement);
  KVPLAN_TRY(o.end, run_replica(setup, replica, *allocator, sinks, observers, &o.evictions, &o.used,
                                SimTime{}, true));
  o.placement = placement.counts();
  o.iterations = records.iterations() - iterations;
  if (o.timeline) o.timeline->end_at(o.end);
  o.totals = o.timeline ? Totals(*o.timeline) : Totals(integrals);
  return Done{};
}

/// The second run of a replica: totals up to the end of all, the timeline, and what is where at `peak`.
Status run_again(const Setup& setup, std::size_t replica, SimTime peak, SimTime end, ReplicaOutcome& o,
                 observe::StateCounts& at_peak) {
  KVPLAN_TRY(const auto allocator, make_allocator(setup));
  observe::Integrals whole;
  StateAt probe(peak);
  std::vector<observe::LedgerSink*> sinks{&whole, &probe};
  if (setup.shares.size() > 1) {
    sinks.push_back(&o.overlays.emplace(o.layout, peak));
    if (o.kinds) sinks.push_back(&o.kinds.emplace(o.layout, peak));
  }
  if (setup.options.timeline_bins > 0) sinks.push_back(&o.timeline.emplace(end, setup.options.timeline_bins));
  KVPLAN_TRY([[maybe_unused]] const SimTime again,
             run_replica(setup, replica, *allocator, sinks, {}, nullptr, nullptr, end, false));
  o.totals = Totals(whole);
  at_peak = probe.cells();
  return Done{};
}

void take_requests(const Setup& setup, observe::RequestRecords& records, RunResult& result) {
  result.iterations = records.iterations();
  result.computed_tokens = records.computed_tokens();
  summarize_requests(setup.workload, records.take(), setup.scenario, result);
  result.input = setup.workload.input;
  result.output = setup.workload.output;
}

/// What several replicas reach together at one instant.
void find_peaks(const std::vector<ReplicaOutcome>& outcomes, PeakFinder& finder, RunResult& result) {
  std::vector<const ChangeLog*> logs;
  for (const ReplicaOutcome& o : outcomes) {
    finder.add(o.changes, o.layout.quanta * o.layout.quantum_counts());
    logs.push_back(&o.changes);
  }
  finder.find();
  result.hole_bytes_peak = most_holes_at_once(logs) * outcomes.front().layout.count_bytes();
  result.max_running = finder.max_running();
}

/// A replica's own requests and iterations.
ReplicaResult served_by(const Setup& setup, std::size_t replica, const ReplicaOutcome& o,
                        const RunResult& result) {
  ReplicaResult r;
  r.layout = o.layout;
  r.requests = static_cast<std::int64_t>(setup.shares[replica].size());
  for (const RequestId id : setup.shares[replica]) {
    const auto& record = result.records[static_cast<std::size_t>(id)];
    r.completed += record.status == observe::RequestStatus::kCompleted ? 1 : 0;
    r.preemptions += record.preemptions;
  }
  r.iterations = o.iterations;
  r.max_running = o.totals.max_running;
  std::int64_t idle = o.peak.seen() ? 0 : o.layout.quanta * o.layout.quantum_counts();
  for (const observe::State s : {observe::State::kCached, observe::State::kStranded, observe::State::kFree})
    idle += o.peak.cells()[index(s)];
  r.least_idle_bytes = idle * o.layout.count_bytes();
  return r;
}

/// Errors: more bytes than a number holds.
Status add_placement(const ReplicaOutcome& o, PlacementSummary& sum) {
  const Wide token = o.layout.token_bytes;
  const Wide copied = sum.copied_bytes + token * o.placement.copied_tokens;
  const Wide slid = sum.compaction_bytes + token * o.placement.slid_tokens;
  if (std::max(copied, slid) > INT64_MAX) return bad_input("ranges that move come to more than 2^63 bytes");
  sum.copies += o.placement.copies;
  sum.copied_bytes = static_cast<std::int64_t>(copied);
  sum.compactions += o.placement.compactions;
  sum.compaction_bytes = static_cast<std::int64_t>(slid);
  sum.delay = sum.delay + o.placement.delay;
  return Done{};
}

/// Adds a replica to the result, after a second run of it where one is needed.
Status add_replica(const Setup& setup, std::size_t replica, const PeakFinder& finder, SimTime end,
                   ReplicaOutcome& o, RunResult& result) {
  const bool alone = setup.shares.size() == 1;
  ReplicaResult r = served_by(setup, replica, o, result);
  observe::StateCounts at_peak{};
  if (needs_second_run(setup.scenario, setup.options))
    KVPLAN_TRY_DO(run_again(setup, replica, finder.peak_time(), end, o, at_peak));
  if (o.timeline) r.timeline = std::move(*o.timeline).take_bins();
  if (result.iterations > 0) {
    MemoryCounts counts{.cell_ticks = o.totals.cell_ticks,
                        .overlay_ticks = o.overlays->count_ticks(o.totals.cell_ticks, end),
                        .peak_time = alone ? o.peak.time() : finder.peak_time(),
                        .peak_cells = alone ? o.peak.cells() : at_peak,
                        .peak_overlays = o.overlays->at_peak()};
    if (o.kinds) {
      counts.kind_ticks = o.kinds->count_ticks();
      counts.peak_kinds = o.kinds->at_peak();
    }
    r.memory = summarize_memory(r.layout, counts, end.since_start);
  }
  if (end.since_start.count > 0)
    r.mean_running = static_cast<double>(o.totals.running_ticks) / static_cast<double>(end.since_start.count);
  result.capacity_bytes += r.layout.capacity_bytes;
  KVPLAN_TRY_DO(add_placement(o, result.placement));
  result.evicted_tokens += o.evictions.tokens;
  result.evicted_blocks += o.evictions.blocks_let_go;
  if (alone) {
    result.max_running = r.max_running;
    result.hole_bytes_peak = o.evictions.hole_cells_peak * r.layout.count_bytes();
  }
  result.replicas.push_back(std::move(r));
  return Done{};
}

}  // namespace

std::int64_t requests_to_serve(const Scenario& scenario, const traces::Trace& trace,
                               const RunOptions& options) {
  const std::int64_t requests = scenario.limit < 0 ? trace.size() : std::min(scenario.limit, trace.size());
  return needs_second_run(scenario, options) ? 2 * requests : requests;
}

Result<RunResult> run_scenario(const Scenario& scenario, const traces::Trace& trace,
                               const RunOptions& options) {
  RunResult result = begin_result(scenario, trace);
  KVPLAN_TRY(const Setup setup, prepare(scenario, trace, options, result));
  const std::size_t replicas = setup.shares.size();
  KVPLAN_TRY_DO(check_bins(options.timeline_bins, replicas));

  observe::RequestRecords records(setup.workload.size(), scenario.keeps_nothing());
  observe::RequestMemory held(options.request_memory ? setup.workload.size() : 0);
  std::vector<ReplicaOutcome> outcomes(replicas);
  SimTime end{};
  for (std::size_t i = 0; i < replicas; ++i) {
    KVPLAN_TRY_DO(run_first(setup, i, records, options.request_memory ? &held : nullptr, outcomes[i]));
    end = std::max(end, outcomes[i].end);
  }
  take_requests(setup, records, result);
  if (options.request_memory)
    for (RequestId r = 0; r < static_cast<RequestId>(setup.workload.size()); ++r)
      result.held.push_back(held.held(r));
  PeakFinder finder;
  if (replicas > 1) find_peaks(outcomes, finder, result);
  for (std::size_t i = 0; i < replicas; ++i)
    KVPLAN_TRY_DO(add_replica(setup, i, finder, end, outcomes[i], result));
  result.makespan = end.since_start;
  if (result.makespan.count > 0)
    result.placement.delay_fraction = static_cast<double>(result.placement.delay.count) /
                                      static_cast<double>(result.makespan.count) /
                                      static_cast<double>(replicas);
  result.ranks = setup.tokens.placed.bytes;
  if (setup.tokens.placed.pool) result.derivation = setup.tokens.placed.pool->items;
  if (!setup.tokens.recordings.empty()) result.coverage = coverage_of(setup, outcomes, result);
  sum_replicas(result);
  return result;
}

}  // namespace kvplan::plan
