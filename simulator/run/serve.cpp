#include "simulator/run/serve.h"

#include <algorithm>

#include "simulator/core/clock.h"
#include "simulator/retention/run_courses.h"
#include "simulator/routing/routers.h"
#include "simulator/scheduling/engines.h"

namespace kvplan::runs {
namespace {

using observe::kStates;

/// True: replicas need one clock, because an observer sees all of them, or because a turn may wait for a turn on
/// another replica.
bool share_a_clock(const RunSetup& setup, const core::Router& router) {
  return setup.scenario.replicas > 1 && (router.reads_state() || setup.workload.has_closed_loops());
}

/// True: survivors move together, which takes time.
bool moves_tokens(const RunTokens& tokens) {
  const PlacedPolicy* const policy = tokens.retention().policy();
  return policy != nullptr && policy->placement == core::Placement::kCompact;
}

memory::PoolSize pool_of(const RunSetup& setup) {
  const auto& derived = setup.tokens.placed.pool;
  return derived ? memory::PoolSize{.bytes = derived->rank().pool_bytes} : setup.scenario.pool;
}

Result<std::unique_ptr<core::Memory>> make_memory(const RunSetup& setup, core::RequestColumns& columns) {
  const Scenario& s = setup.scenario;
  const memory::AllocatorRequest request{
      .workload = &setup.workload,
      .pool = pool_of(setup),
      .token_bytes = setup.tokens.memory.token_bytes,
      .cells_per_token = setup.tokens.memory.cells.per_token,
      .metadata_bytes = setup.tokens.memory.cells.metadata_bytes,
      .tables = setup.tokens.memory.tables,
      .alloc_units_beyond = setup.tokens.memory.alloc_units_beyond,
      .model = &setup.tokens.model,
      .format = &setup.tokens.placed.of_token(),
      .tensor_ranks = s.deployment.tensor_ranks,
      .first_layer = setup.tokens.placed.bytes.first_layer,
      .layers = setup.tokens.placed.bytes.layers,
      .step_tokens = step_tokens(s),
      .prefix_cache = setup.tokens.prefixes.finds,
      .replacement = s.replaces_by_policy() ? &s.replacement : nullptr,
      // Courses may free any block of a table; counting without ids cannot follow that if there is a prefix cache.
      .block_ids = !setup.options.extra_observers.empty() ||
                   (setup.tokens.prefixes.finds && setup.tokens.retention().follows_courses()),
      .max_model_len = s.engine_traits().request_tokens.value,
      .columns = &columns};
  RunParts parts = setup.tokens.parts;
  KVPLAN_TRY_DO(check_combinations(parts, s, Known::kMemory));
  KVPLAN_TRY(auto memory, scheduling::engine_entry(s.engine).make_memory(s.engine, s.allocator, request,
                                                                         setup.options.step_by_step));
  parts.add(Part::kBytes, !memory->layout().of_tokens());
  parts.add(Part::kGrowing, !memory->follows_courses());
  KVPLAN_TRY_DO(check_combinations(parts, s, Known::kMemory));
  return memory;
}

/// One replica with all its observers.
struct ReplicaPart {
  std::unique_ptr<core::Memory> memory;
  observe::Peak peak;
  observe::Integrals integrals;
  std::optional<observe::Overlays> overlays;
  std::optional<observe::KindSums> kinds;
  std::optional<observe::Timeline> timeline;
  std::vector<observe::LedgerSink*> sinks;
  std::optional<observe::Ledger> ledger;
  std::optional<observe::RequestRecords> records;
  std::optional<observe::RequestMemory> held;
  observe::PlacingRecords placing;
  observe::ReadSums reads;
  std::optional<observe::StepTimes> step_times;
  std::vector<core::Observer*> observers;
  std::optional<RunCourses> courses;
};

/// One thread if the caller's observers may not be called on several.
int threads_to_use(const RunSetup& setup) {
  const RunOptions& options = setup.options;
  const bool observed_alone = options.extra_observers.empty() || options.extra_observers_on_threads;
  return observed_alone ? options.threads : 1;
}

/// All parts of a run; they are never moved in memory.
class Fleet {
 public:
  explicit Fleet(const RunSetup& setup)
      : setup_(setup),
        columns_(setup.workload.input.size()),
        longest_(longest_driven(setup.tokens.retention(), setup.workload)) {}

  /// The memory of each replica.
  Status make_pools() {
    for (std::int64_t i = 0; i < setup_.scenario.replicas; ++i) {
      parts_.push_back(std::make_unique<ReplicaPart>());
      KVPLAN_TRY(parts_.back()->memory, make_memory(setup_, columns_));
    }
    return Done{};
  }

  [[nodiscard]] const std::vector<std::unique_ptr<ReplicaPart>>& parts() const { return parts_; }
  [[nodiscard]] const core::RequestColumns& columns() const { return columns_; }

  /// Makes the router, the ledgers with the sinks that each part has by then, and the replicas.
  void make_replicas() {
    const Scenario& s = setup_.scenario;
    router_ = routing::router_entry(s.router).make(s.router, setup_.workload, s.replicas);
    for (const auto& part : parts_) {
      if (core::Observer* const clock = part->memory->clock()) part->observers.push_back(clock);
      const core::MemoryLayout& layout = part->memory->layout();
      if (setup_.tokens.retention().follows_courses())
        part->courses.emplace(setup_.tokens.retention(), setup_.workload, longest_, layout,
                              *setup_.trajectories, setup_.options.control);
      const core::ReplicaSetup replica{
          .workload = &setup_.workload,
          .keep = setup_.tokens.retention().keep_rule(),
          .keeps_nothing = s.keeps_nothing(),
          .courses = part->courses ? &*part->courses : nullptr,
          .courses_find = part->courses && setup_.tokens.prefixes.finds,
          .reads_holes = s.engine_traits().reads_holes,
          .prompt_rows = setup_.tokens.prefixes.finds ? setup_.tokens.prefixes.prompt_rows : 1,
          .reads = setup_.tokens.reader ? setup_.tokens.reader->rule : core::ReadRule{},
          .latency = setup_.latency.get(),
          .observers = part->observers,
          .control = setup_.options.control,
          .columns = &columns_,
          .contents_asked = s.replicas > 1 && router_->reads_contents()};
      replicas_.push_back(scheduling::engine_entry(s.engine).make_replica(s.engine, replica, *part->memory,
                                                                          setup_.options.step_by_step));
    }
  }

  /// Serves all requests. `joint`: null if no sums over replicas are wanted.
  Status run(std::vector<std::int32_t>& replica_of, observe::JointStates* joint) {
    const core::Workload& workload = setup_.workload;
    replica_of.assign(workload.input.size(), -1);
    FleetWatcher* const watcher = joint != nullptr ? setup_.options.fleet_watcher : nullptr;
    core::ToldUntil told;
    if (watcher != nullptr) {
      told = [joint, watcher](SimTime until) {
        const FleetWatcher::Taken taken = watcher->on_told(until, *joint);
        joint->merge(taken.until);
        return taken.things;
      };
    } else if (joint != nullptr) {
      told = [joint](SimTime until) {
        const std::int64_t waited = joint->waiting();
        joint->merge(until);
        return waited;
      };
    }
    core::RoutedTold routed;
    if (watcher != nullptr)
      routed = [watcher](std::int64_t round, RequestId request) { watcher->on_routed(round, request); };
    if (share_a_clock(setup_, *router_)) {
      KVPLAN_TRY_DO(core::run_together({.workload = &workload,
                                        .replicas = replicas_,
                                        .router = router_.get(),
                                        .replica_of = &replica_of,
                                        .control = setup_.options.control,
                                        .told = told,
                                        .routed = routed}));
    } else {
      KVPLAN_TRY_DO(core::run_apart(replicas_, workload, deal_out(replica_of), setup_.options.control, told,
                                    threads_to_use(setup_)));
    }
    for (const auto& part : parts_) end_ = std::max(end_, part->ledger->end());
    for (const auto& part : parts_) part->ledger->extend_to(end_);
    if (watcher != nullptr) watcher->on_told(core::kNever, *joint);
    if (joint != nullptr) joint->merge(core::kNever);
    if (watcher != nullptr) watcher->on_end(*joint);
    return Done{};
  }

  /// The end of the last step over all replicas. REQUIRES: the run has ended.
  [[nodiscard]] SimTime end() const { return end_; }

 private:
  /// The requests of each replica, for a router that does not use the state of replicas.
  std::vector<std::vector<RequestId>> deal_out(std::vector<std::int32_t>& replica_of) {
    std::vector<std::vector<RequestId>> shares(replicas_.size());
    const core::FleetView view(replicas_, SimTime{});
    for (const RequestId r : setup_.workload.order) {
      const std::int64_t replica = replicas_.size() > 1 ? router_->route(r, view) : 0;
      replica_of[index(r)] = static_cast<std::int32_t>(replica);
      shares[static_cast<std::size_t>(replica)].push_back(r);
    }
    return shares;
  }

  const RunSetup& setup_;
  core::RequestColumns columns_;
  const LongestDriven longest_;
  std::vector<std::unique_ptr<ReplicaPart>> parts_;
  std::unique_ptr<core::Router> router_;
  std::vector<std::unique_ptr<core::Replica>> replicas_;
  SimTime end_{};
};

/// The latest arrival of a request that waits for no other and is not rejected: the run does not end before it.
SimTime last_served_arrival(const RunSetup& setup, const core::Memory& memory) {
  const core::Workload& workload = setup.workload;
  const std::int64_t longest = setup.scenario.engine_traits().request_tokens.value;
  const auto last = std::find_if(workload.order.rbegin(), workload.order.rend(), [&](RequestId r) {
    const bool waits = workload.turns.present() && workload.turns.waits_for[index(r)] > 0;
    return !waits && core::is_served(workload, r, longest, memory);
  });
  return last == workload.order.rend() ? SimTime{} : workload.arrival[index(*last)];
}

/// Adds the observers for everything that the report may need of a replica.
Status watch(const RunSetup& setup, const Fleet& fleet, std::size_t replica, Served& served,
             observe::JointStates* joint) {
  ReplicaPart& part = *fleet.parts()[replica];
  const core::MemoryLayout& layout = part.memory->layout();
  part.sinks = {&part.peak, &part.overlays.emplace(layout, part.peak)};
  if (!layout.groups.empty()) part.sinks.push_back(&part.kinds.emplace(layout, part.peak));
  if (joint != nullptr) part.sinks.push_back(&joint->sink_of(static_cast<std::int64_t>(replica)));
  if (joins_timeline(setup.scenario, setup.options)) {
    part.sinks.push_back(&part.timeline.emplace(
        observe::Timeline::joined(setup.options.timeline_bins, last_served_arrival(setup, *part.memory))));
  } else {
    part.sinks.push_back(&part.integrals);
  }
  part.ledger.emplace(setup.workload, layout, setup.tokens.retention().keep_rule(), part.sinks,
                      &fleet.columns().account);
  part.observers = {&*part.ledger, &part.records.emplace(served.records, setup.scenario.keeps_nothing())};
  if (setup.follows_held())
    part.observers.push_back(&part.held.emplace(served.held, layout.alloc_unit_tokens, layout.states.blocks));
  if (part.memory->placing() != nullptr || moves_tokens(setup.tokens))
    part.observers.push_back(&part.placing);
  if (setup.tokens.reader) part.observers.push_back(&part.reads);
  if (const auto* const parted = dynamic_cast<const core::PartedLatency*>(setup.latency.get()))
    part.observers.push_back(&part.step_times.emplace(*parted));
  for (const ObserverMaker& make : setup.options.extra_observers) {
    KVPLAN_TRY(core::Observer* const extra, make({static_cast<std::int64_t>(replica), setup.workload,
                                                  *part.ledger, *part.memory, setup.tokens}));
    part.observers.push_back(extra);
  }
  return Done{};
}

Totals totals_of(const ReplicaPart& part) {
  Totals totals;
  if (!part.timeline)
    return {part.integrals.cell_ticks(), part.integrals.running_ticks(), part.integrals.max_running()};
  totals.max_running = part.timeline->max_running();  // bins that cover the run give the same sums
  for (const observe::TimelineBin& bin : part.timeline->bins()) {
    for (std::size_t s = 0; s < kStates; ++s) totals.cell_ticks[s] += bin.value_ticks[s];
    totals.running_ticks += bin.value_ticks[kStates];
  }
  return totals;
}

std::int64_t idle_at_own_peak(const ReplicaPart& part) {
  const core::MemoryLayout& layout = part.memory->layout();
  if (!part.peak.seen()) return layout.alloc_units * layout.alloc_unit_counts();
  std::int64_t idle = 0;
  for (const observe::State s : {observe::State::kCached, observe::State::kStranded, observe::State::kFree})
    idle += part.peak.cells()[index(s)];
  return idle;
}

/// `end`: end of all replicas; `joint`: null if there is only one replica.
ReplicaOutcome outcome_of(ReplicaPart& part, std::size_t replica, SimTime end,
                          const observe::JointStates* joint) {
  ReplicaOutcome o;
  o.layout = part.memory->layout();
  o.end = part.ledger->end();
  if (part.timeline) part.timeline->end_at(o.end);
  o.totals = totals_of(part);
  o.overlay_ticks = part.overlays->count_ticks(o.totals.cell_ticks, end);
  if (part.kinds) o.kind_ticks = part.kinds->count_ticks();
  if (joint == nullptr) {
    o.peak_time = part.peak.time();
    o.peak_cells = part.peak.cells();
    o.peak_overlays = part.overlays->at_peak();
    if (part.kinds) o.peak_kinds = part.kinds->at_peak();
  } else {
    const auto i = static_cast<std::int64_t>(replica);
    o.peak_time = joint->peak_time();
    o.peak_cells = joint->peak_cells(i);
    o.peak_overlays = joint->peak_overlays(i);
    o.peak_kinds = joint->peak_kinds(i);
  }
  o.least_idle = idle_at_own_peak(part);
  o.timeline = std::move(part.timeline);
  o.evictions = part.ledger->evictions();
  o.placing = part.placing.costs();
  o.reads = part.reads.sums();
  if (part.step_times) o.step_parts = part.step_times->sums();
  if (part.courses) o.used = part.courses->used();
  o.iterations = part.records->iterations();
  o.computed_tokens = part.records->computed_tokens();
  return o;
}

}  // namespace

bool joins_timeline(const Scenario& scenario, const RunOptions& options) {
  return options.timeline_bins > 0 && options.timeline_joined && scenario.replicas == 1;
}

Result<Served> serve(const RunSetup& setup) {
  Served served;
  served.records.resize(setup.workload.input.size());
  if (setup.follows_held()) served.held.resize(setup.workload.input.size());
  Fleet fleet(setup);
  KVPLAN_TRY_DO(fleet.make_pools());
  const core::Memory& first = *fleet.parts().front()->memory;
  KVPLAN_TRY_DO(setup.tokens.retention().check_requests(setup.workload, first,
                                                        setup.scenario.engine_traits().request_tokens.value));
  std::optional<observe::JointStates> several;
  observe::JointStates* joint = nullptr;
  if (setup.scenario.replicas > 1) joint = &several.emplace(setup.scenario.replicas, first.layout());
  for (std::size_t i = 0; i < fleet.parts().size(); ++i) KVPLAN_TRY_DO(watch(setup, fleet, i, served, joint));
  fleet.make_replicas();
  KVPLAN_TRY_DO(fleet.run(served.replica_of, joint));
  served.end = fleet.end();
  for (std::size_t i = 0; i < fleet.parts().size(); ++i)
    served.replicas.push_back(outcome_of(*fleet.parts()[i], i, served.end, joint));
  served.max_running = joint == nullptr ? served.replicas.front().totals.max_running : joint->max_running();
  served.most_holes =
      joint == nullptr ? served.replicas.front().evictions.hole_cells_peak : joint->most_holes();
  return served;
}

Status serve_timelines(const RunSetup& setup, Served& served) {
  Fleet fleet(setup);
  KVPLAN_TRY_DO(fleet.make_pools());
  for (const auto& part : fleet.parts()) {
    part->sinks = {&part->timeline.emplace(served.end, setup.options.timeline_bins)};
    part->ledger.emplace(setup.workload, part->memory->layout(), setup.tokens.retention().keep_rule(),
                         part->sinks, &fleet.columns().account);
    part->observers = {&*part->ledger};
  }
  fleet.make_replicas();
  std::vector<std::int32_t> replica_of;
  KVPLAN_TRY_DO(fleet.run(replica_of, nullptr));
  for (std::size_t i = 0; i < fleet.parts().size(); ++i)
    served.replicas[i].timeline = std::move(fleet.parts()[i]->timeline);
  return Done{};
}

}  // namespace kvplan::runs
