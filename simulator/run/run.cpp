#include "simulator/run/run.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "simulator/base/check.h"
#include "simulator/latency/latencies.h"
#include "simulator/observe/integral.h"
#include "simulator/observe/placing_costs.h"
#include "simulator/retention/run_courses.h"
#include "simulator/routing/routers.h"
#include "simulator/run/serve.h"
#include "simulator/run/summary.h"
#include "simulator/scheduling/engines.h"
#include "simulator/workload/answers.h"
#include "simulator/workload/closed_loops.h"

namespace kvplan::runs {
namespace {

constexpr std::int64_t kMostBins = std::int64_t{1} << 22;

/// True: timelines need the end of the whole run, so the run is repeated for them.
bool needs_second_run(const Scenario& scenario, const RunOptions& options) {
  return options.timeline_bins > 0 && !joins_timeline(scenario, options);
}

/// Why the replacement policy has no effect. REQUIRES: the scenario has one, and prefixes are not cached.
std::string why_no_replacement(const Scenario& scenario) {
  return "memory.replacement is ignored: with " +
         std::string(scenario.engine_traits().wants_prefixes ? "no prefix hits" : "prefix_cache=false") +
         " no block is cached that \"" + std::string(scenario.replacement.name()) + "\" could evict.";
}

Result<std::unique_ptr<core::LatencyModel>> make_latency(const Scenario& scenario, const RunTokens& tokens,
                                                         const RunOptions& options,
                                                         std::vector<std::string>& assumptions) {
  latency::LatencyRequest request{
      .model = tokens.model,
      .tensor_ranks = scenario.deployment.tensor_ranks,
      .stages = scenario.deployment.stages,
      .stage_layers = scenario.deployment.stage_layers,
      .token_bytes = tokens.placed.step_token_bytes,
      .fine_weight_bits = scenario.deployment.fine_weight_bits(),
      .weights_bytes = scenario.deployment.weights_bytes,
      .device = scenario.deployment.device,
      .follows_windows = memory::allocator_entry(scenario.allocator).follows_windows,
      .partly = tokens.reader ? &tokens.reader->partly : nullptr};
  std::optional<MeasuredSteps> measured;
  const latency::LatencyEntry& entry = latency::latency_entry(scenario.latency);
  if (!entry.steps_param.empty() && options.open_steps) {
    KVPLAN_TRY(measured, options.open_steps(scenario.latency.text(entry.steps_param), tokens.model.name));
    request.measured = &measured->table;
    for (std::string& sentence : measured->assumptions) assumptions.push_back(std::move(sentence));
    if (const std::int64_t ranks = request.tensor_ranks * request.stages; ranks > 1)
      assumptions.push_back("The measured step times are assumed to be for " + std::to_string(ranks) +
                            " ranks together.");
    if (memory::allocator_entry(scenario.allocator).follows_windows && tokens.model.window_layers() > 0)
      assumptions.emplace_back(
          "Measured step times are looked up by all context tokens, including those outside sliding windows. "
          "The measured engine is assumed to have read only the tokens inside the windows.");
  }
  MeasuredKernels kernels;
  const bool names_kernels =
      std::any_of(entry.descriptor.params.begin(), entry.descriptor.params.end(), [&](const Param& param) {
        return param.name == entry.kernels_param && scenario.latency.text(param.name) != param.fallback;
      });
  if (names_kernels && options.open_kernels) {
    KVPLAN_TRY(kernels, options.open_kernels(scenario.latency.text(entry.kernels_param)));
    request.kernels = &kernels.tables;
    for (std::string& sentence : kernels.assumptions) assumptions.push_back(std::move(sentence));
  }
  KVPLAN_TRY(auto made, entry.make(scenario.latency, request));
  for (std::string& sentence : made->assumptions()) assumptions.push_back(std::move(sentence));
  return made;
}

/// The cost; nothing without a price list.
Result<std::optional<Cost>> find_cost(const Scenario& scenario, const RunOptions& options) {
  if (scenario.prices.empty()) return std::optional<Cost>{};
  if (!options.open_prices) return bad_input("price lists cannot be read here").at_field("prices");
  if (scenario.deployment.device == nullptr)
    return bad_input("expected deployment.device, which prices need").at_field("prices");
  KVPLAN_TRY(const PriceList prices, options.open_prices(scenario.prices));
  const model::Deployment& d = scenario.deployment;
  auto cost = cost_of(prices, d.device->name, d.tensor_ranks * d.stages * scenario.replicas);
  if (cost.ok()) return std::optional(std::move(cost).value());
  return Error(cost.error()).at_file(scenario.prices);
}

/// Tokens of an id that is made for answers, if the trace has none: whole blocks of the pool.
std::int64_t made_id_tokens(const Scenario& scenario) {
  constexpr std::int64_t kLeast = 16;
  for (const Param& param : scenario.allocator.descriptor().params)
    if (param.name == "block_tokens") {
      const std::int64_t block = scenario.allocator.integer(param.name);
      return ceil_div(kLeast, block) * block;
    }
  return kLeast;
}

/// Adds the trace's file to an error of what the trace says.
template <class T>
Result<T> of_trace(Result<T> made, const Scenario& scenario) {
  if (made.ok() || !made.error().file.empty()) return made;
  return std::move(made).error().at_file(scenario.trace);
}

Result<RunSetup> prepare(const Scenario& scenario, const traces::Trace& trace, const RunOptions& options,
                         RunResult& result) {
  if (trace.size() > INT32_MAX) return bad_input("expected at most 2^31 requests").at_field("workload.trace");
  RunSetup setup{scenario, options, {}, {}, 0, {}, {}};
  KVPLAN_TRY(result.cost, find_cost(scenario, options));
  if (result.cost) result.assumptions.push_back(result.cost->sentence);
  KVPLAN_TRY(setup.tokens, make_run_tokens(scenario,
                                           {options.open_recording, options.open_model, options.open_scores,
                                            options.open_sets, options.open_side},
                                           result.warnings, result.assumptions));
  const scheduling::EngineTraits engine = scenario.engine_traits();
  if (engine.wants_prefixes && !setup.tokens.prefixes.finds)
    result.warnings.push_back(why_ignored(Part::kPrefixCache, setup.tokens.parts, scenario));
  if (scenario.replaces_by_policy() && !setup.tokens.prefixes.finds)
    result.warnings.push_back(why_no_replacement(scenario));
  if (scenario.keeps_nothing() && engine.piece_tokens.value > 0)
    result.warnings.push_back(std::string(engine.piece_tokens.param) +
                              " is ignored: without a KV cache a prompt cannot be computed in chunks.");
  if (!engine.without_priorities.empty() && trace.priority.empty())
    result.warnings.emplace_back(engine.without_priorities);
  if (engine.reads_holes && scenario.evicts_by != EvictsBy::kNothing)
    result.assumptions.emplace_back(
        "Attention time includes reading evicted tokens, as long as their block is held.");
  if (setup.tokens.prefixes.finds && !trace.prefix.present() &&
      workload::answer_rule(scenario.answers) != workload::AnswerRule::kSession)
    result.assumptions.emplace_back(
        "The trace does not say which prompts share prefixes. Only a preempted request can hit cached "
        "blocks: those of its own earlier run.");
  if (setup.tokens.prefixes.finds && setup.tokens.prefixes.prompt_rows > 1)
    result.assumptions.push_back(
        "After a prefix hit, the last " + std::to_string(setup.tokens.prefixes.prompt_rows) +
        " tokens of the prompt are still computed: the policy needs their attention.");
  KVPLAN_TRY(setup.workload,
             of_trace(workload::build_workload(trace, scenario.rate_scale, scenario.limit), scenario));
  if (setup.tokens.prefixes.finds) {
    const workload::AnswerRule rule = workload::answer_rule(scenario.answers);
    KVPLAN_TRY(
        const workload::AnswerCounts answers,
        of_trace(workload::name_answers(trace, rule, made_id_tokens(scenario), setup.workload), scenario));
    if (answers.later_turns > 0) result.answers = answers;
    for (std::string& sentence : workload::describe(answers, rule, trace.prefix.present()))
      result.assumptions.push_back(std::move(sentence));
  } else {
    setup.workload.prefix = nullptr;
  }
  setup.undriven = undriven_requests(setup.tokens.retention(), setup.workload);
  if (setup.undriven > 0)
    result.warnings.push_back(std::to_string(setup.undriven) + " of " +
                              std::to_string(setup.workload.size()) +
                              " requests are longer than their recordings. The number of tokens that they "
                              "keep is computed from lengths; which tokens they keep is unknown.");
  KVPLAN_TRY(setup.latency, make_latency(scenario, setup.tokens, options, result.assumptions));
  if (setup.tokens.retention().follows_courses())
    setup.trajectories = options.trajectories != nullptr
                             ? options.trajectories
                             : std::make_shared<attention::TrajectoryStore>(kTrajectoryBytes);
  KVPLAN_TRY(const workload::LoopCounts loops,
             of_trace(workload::close_loops(trace, workload::session_rule(scenario.sessions),
                                            scenario.rate_scale, setup.workload),
                      scenario));
  for (std::string& sentence : workload::describe(loops)) result.assumptions.push_back(std::move(sentence));
  return setup;
}

/// How much recordings drove: every request admitted in a replayed run is driven by a recording, or counted.
Coverage coverage_of(const RunSetup& setup, const DrivingRecordings& driving, const Served& served,
                     const RunResult& result) {
  Coverage c;
  c.recordings = static_cast<std::int64_t>(driving.recordings.size());
  for (std::size_t i = 0; i < driving.recordings.size(); ++i)
    c.used += std::any_of(served.replicas.begin(), served.replicas.end(),
                          [&](const ReplicaOutcome& o) { return o.used[i]; });
  std::int64_t admitted = 0;
  Wide driven_ticks = 0, all_ticks = 0;
  for (std::size_t i = 0; i < result.records.size(); ++i) {
    if (!result.records[i].scheduled) continue;
    ++admitted;
    const bool driven = driving.drives(setup.workload, id_at<RequestId>(i));
    c.driven_requests += driven ? 1 : 0;
    if (result.held.empty()) continue;
    all_ticks += result.held[i].alloc_unit_ticks;
    driven_ticks += driven ? result.held[i].alloc_unit_ticks : 0;
  }
  if (driving.other_shape) c.extrapolated_requests = c.driven_requests;
  if (admitted == 0) return c;
  c.driven_request_fraction = static_cast<double>(c.driven_requests) / static_cast<double>(admitted);
  if (setup.undriven == 0 && result.makespan.count > 0) c.driven_byte_seconds_fraction = 1;
  if (setup.undriven > 0 && all_ticks > 0)
    c.driven_byte_seconds_fraction = static_cast<double>(driven_ticks) / static_cast<double>(all_ticks);
  return c;
}

void note_assumptions(const Scenario& scenario, RunResult& result) {
  result.assumptions.emplace_back(
      "Output lengths are those of the trace, whatever tokens the policy evicts.");
  if (scenario.origin("memory.pool_bytes") == Origin::kDefault && scenario.pool.bytes >= 0)
    result.assumptions.emplace_back(
        "memory.pool_bytes is a default and not derived from a device: give deployment.device, or your pool "
        "size.");
  if (scenario.keeps_nothing())
    result.assumptions.emplace_back(
        "Without a KV cache, every step computes all tokens of its requests again, without padding. A prompt "
        "is computed whole; the token budget counts it at admission, and then one token per request and "
        "step.");
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

/// Limits the number of bins, because a bin takes some 400 bytes.
Status check_bins(std::int64_t bins, std::size_t replicas) {
  if (bins <= kMostBins / static_cast<std::int64_t>(replicas)) return Done{};
  return bad_input("expected at most " + std::to_string(kMostBins) + " bins over all replicas, found " +
                   std::to_string(bins) + " for each of " + std::to_string(replicas))
      .at_field("timeline bins");
}

/// Moves the requests and their results, over all replicas, into the result.
void take_requests(const RunSetup& setup, Served& served, RunResult& result) {
  for (const ReplicaOutcome& o : served.replicas) {
    result.iterations += o.iterations;
    result.computed_tokens += o.computed_tokens;
  }
  summarize_requests(setup.workload, std::move(served.records), setup.scenario,
                     core::OutsideTimes(*setup.latency), result);
  result.held = std::move(served.held);
  result.replica_of = std::move(served.replica_of);
  result.input = setup.workload.input;
  result.output = setup.workload.output;
}

/// Errors: more bytes than a number holds.
Status add_placing(const ReplicaOutcome& o, PlacingSummary& sum) {
  const Wide token = o.layout.token_bytes;
  const Wide copied = sum.copied_bytes + token * o.placing.copied_tokens;
  const Wide slid = sum.compaction_bytes + token * o.placing.slid_tokens;
  if (std::max(copied, slid) > INT64_MAX) return bad_input("moved ranges exceed 2^63 bytes in total");
  sum.copies += o.placing.copies;
  sum.copied_bytes = static_cast<std::int64_t>(copied);
  sum.compactions += o.placing.compactions;
  sum.compaction_bytes = static_cast<std::int64_t>(slid);
  sum.delay = sum.delay + o.placing.delay;
  return Done{};
}

/// Errors: more bytes than a number holds.
Status add_evictions(const ReplicaOutcome& o, RunResult& result) {
  const Wide moved = result.compaction_bytes + Wide{o.evictions.compacted_cells} * o.layout.cell_bytes();
  if (moved > INT64_MAX) return bad_input("tokens kept by compactions exceed 2^63 bytes in total");
  result.evicted_tokens += o.evictions.tokens;
  result.evicted_blocks += o.evictions.blocks_freed;
  result.compactions += o.evictions.compactions;
  result.compaction_bytes = static_cast<std::int64_t>(moved);
  return Done{};
}

Status add_replica(ReplicaOutcome& o, Ticks makespan, RunResult& result) {
  ReplicaSummary r;
  r.pool = pool_shape(o.layout);
  r.iterations = o.iterations;
  r.max_running = o.totals.max_running;
  r.least_idle_bytes = o.least_idle * o.layout.count_bytes();
  ReplicaDetails& details = result.details.emplace_back();
  details.layout = o.layout;
  if (o.timeline) details.timeline = std::move(*o.timeline).take_bins();
  if (result.iterations > 0)
    r.memory = summarize_memory(o.layout,
                                {.cell_ticks = o.totals.cell_ticks,
                                 .overlay_ticks = o.overlay_ticks,
                                 .peak_time = o.peak_time,
                                 .peak_cells = o.peak_cells,
                                 .peak_overlays = o.peak_overlays,
                                 .kind_ticks = o.kind_ticks,
                                 .peak_kinds = o.peak_kinds},
                                makespan);
  if (makespan.count > 0)
    r.mean_running = static_cast<double>(o.totals.running_ticks) / static_cast<double>(makespan.count);
  result.capacity_bytes += o.layout.capacity_bytes;
  KVPLAN_TRY_DO(add_placing(o, result.placing));
  KVPLAN_TRY_DO(add_evictions(o, result));
  result.replicas.push_back(std::move(r));
  return Done{};
}

/// Counts the requests that each replica served.
void count_requests(RunResult& result) {
  for (std::size_t i = 0; i < result.records.size(); ++i) {
    if (result.replica_of[i] < 0) continue;
    ReplicaSummary& r = result.replicas[static_cast<std::size_t>(result.replica_of[i])];
    ++r.requests;
    r.completed += result.records[i].status == observe::RequestStatus::kCompleted ? 1 : 0;
    r.preemptions += result.records[i].preemptions;
  }
}

/// The part of the kept tokens that decode steps read.
void note_reads(const RunTokens& tokens, const Served& served, RunResult& result) {
  observe::DecodeReads reads;
  for (const ReplicaOutcome& o : served.replicas) reads += o.reads;
  if (!tokens.reader || !tokens.reader->rule.part() || reads.seen == 0) return;
  const auto permille =
      static_cast<std::int64_t>((1000 * (reads.seen - reads.unread) + reads.seen / 2) / reads.seen);
  result.assumptions.push_back(
      "Of all tokens visible to decode queries, heads with sparse attention fetched " +
      std::to_string(permille / 10) + "." + std::to_string(permille % 10) + " %.");
}

/// Where the time of steps went, and what requests waited outside the engine.
void add_step_times(const RunSetup& setup, const Served& served, RunResult& result) {
  if (!served.replicas.front().step_parts) return;
  core::StepParts sums;
  for (const ReplicaOutcome& o : served.replicas)
    for (std::size_t i = 0; i < core::kStepParts; ++i) sums.ticks[i] += o.step_parts->ticks[i];
  const core::OutsideTimes outside_of(*setup.latency);
  Wide in_steps = 0, outside = 0, whole = 0;
  for (const Wide ticks : sums.ticks) in_steps += ticks;
  for (std::size_t i = 0; i < result.records.size(); ++i) {
    const observe::RequestRecord& r = result.records[i];
    if (r.status != observe::RequestStatus::kCompleted) continue;
    const Ticks before = outside_of(result.input[i]);
    outside += before.count;
    whole += Wide{(r.finish - r.arrival).count} + before.count;
  }
  StepTimeSummary& times = result.step_time.emplace();
  const auto put = [&](std::size_t i, Wide part, Wide all) {
    times.seconds[i] = static_cast<double>(part) / (1e9 * static_cast<double>(kTicksPerNs));
    times.shares[i] = all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
  };
  for (std::size_t i = 0; i < core::kStepParts; ++i) put(i, sums.ticks[i], in_steps);
  put(core::kStepParts, outside, whole);
}

/// Adds the sentences of the run's retention when the run is over.
void note_retention(const RunTokens& tokens, RunResult& result) {
  AfterRun run{.paged = memory::allocator_entry(result.scenario.allocator).frees_single_blocks};
  if (result.memory) run.hole_fraction = result.memory->mean_fraction[index(observe::State::kHole)];
  for (std::string& sentence : tokens.retention().sentences(run))
    result.assumptions.push_back(std::move(sentence));
}

}  // namespace

void forget_requests(RunResult& result) {
  // Assigning an empty list would keep the memory.
  std::vector<observe::RequestRecord>().swap(result.records);
  std::vector<std::int32_t>().swap(result.replica_of);
  std::vector<observe::RequestHeld>().swap(result.held);
  std::vector<std::int32_t>().swap(result.input);
  std::vector<std::int32_t>().swap(result.output);
}

std::int64_t requests_to_serve(const Scenario& scenario, const traces::Trace& trace,
                               const RunOptions& options) {
  const std::int64_t requests = scenario.limit < 0 ? trace.size() : std::min(scenario.limit, trace.size());
  return needs_second_run(scenario, options) ? 2 * requests : requests;
}

namespace {

/// The scenario with what only the model's file says.
Result<Scenario> completed(const Scenario& scenario, const RunOptions& options) {
  if (scenario.model_file.empty() || !options.open_model) return scenario;
  KVPLAN_TRY(const model::ModelShape shape, options.open_model(scenario.model_file));
  return with_length_of(shape, scenario);
}

}  // namespace

Result<RunResult> run_scenario(const Scenario& given, const traces::Trace& trace, const RunOptions& options) {
  KVPLAN_TRY(const Scenario scenario, completed(given, options));
  RunResult result = begin_result(scenario, trace);
  KVPLAN_TRY(const RunSetup setup, prepare(scenario, trace, options, result));
  KVPLAN_TRY_DO(check_bins(options.timeline_bins, static_cast<std::size_t>(scenario.replicas)));
  KVPLAN_TRY(Served served, serve(setup));
  if (needs_second_run(scenario, options)) KVPLAN_TRY_DO(serve_timelines(setup, served));
  result.makespan = served.end.since_start;
  take_requests(setup, served, result);
  add_step_times(setup, served, result);
  result.max_running = served.max_running;
  result.hole_bytes_peak = served.most_holes * served.replicas.front().layout.count_bytes();
  for (ReplicaOutcome& o : served.replicas) KVPLAN_TRY_DO(add_replica(o, result.makespan, result));
  count_requests(result);
  if (result.makespan.count > 0)
    result.placing.delay_fraction = static_cast<double>(result.placing.delay.count) /
                                    static_cast<double>(result.makespan.count) /
                                    static_cast<double>(served.replicas.size());
  result.ranks = setup.tokens.placed.bytes;
  result.obstacles = setup.tokens.placed.obstacles;
  if (scenario.derives_pool) result.starts = result.obstacles.empty();
  if (result.arrived > 0) result.unhindered = result.rejected == 0 && result.preemptions == 0;
  if (setup.tokens.placed.pool) result.derivation = setup.tokens.placed.pool->items;
  if (const DrivingRecordings* const driving = setup.tokens.retention().driving();
      driving != nullptr && !driving->unrecorded)
    result.coverage = coverage_of(setup, *driving, served, result);
  if (!options.request_memory) result.held.clear();  // it was recorded only for the coverage
  sum_replicas(result);
  count_replicated(result);
  note_retention(setup.tokens, result);
  note_reads(setup.tokens, served, result);
  return result;
}

}  // namespace kvplan::runs
