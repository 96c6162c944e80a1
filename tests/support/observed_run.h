// All observed events of a run as one text, for runs that must be equal.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "simulator/observe/integral.h"
#include "simulator/observe/kind_sums.h"
#include "simulator/observe/ledger.h"
#include "simulator/observe/overlays.h"
#include "simulator/observe/placing_costs.h"
#include "simulator/observe/request_memory.h"
#include "simulator/observe/requests.h"
#include "simulator/observe/timeline.h"
#include "tests/support/random_case.h"
#include "tests/support/run_replica.h"

namespace kvplan::test {

/// Counts how often the cases reach the situations that they are meant to reach.
class Coverage final : public core::Observer {
 public:
  void on_arrival(SimTime time, RequestId request, bool accepted) override {
    if (workload != nullptr && workload->turns.present() && workload->turns.waits_for[index(request)] > 0)
      ++(time > workload->arrival[index(request)] ? caused : waited_in_time);
    rejected += accepted ? 0 : 1;
  }
  void on_preempt(const core::Release& release) override {
    ++preempted;
    preempted_at_[release.request] = release.written;
  }
  void on_admit(const core::Admission& a) override {
    if (a.hit_tokens > 0) ++(a.again ? rehits : hits);
    if (a.again && a.hit_tokens > 0 && a.hit_tokens < preempted_at_[a.request] / 2) ++partial_rehits;
  }
  void on_move(const core::Move& move) override { ++(move.range.slides ? slides : copies); }
  void on_grant(const core::Grant& grant) override { in_place += grant.first_block > 0 ? 1 : 0; }
  void on_pass_end(const core::Pass& pass) override {
    refused += pass.refused ? 1 : 0;
    empty += pass.load.requests == 0 ? 1 : 0;
  }
  void on_steps(const core::Steps& steps) override { in_runs += steps.series.steps - 1; }
  void on_decode_run(const core::DecodeRun& decode_run) override {
    in_runs += decode_run.series.steps - 1;
    in_decode_runs += static_cast<std::int64_t>(decode_run.grants.size());
  }
  [[nodiscard]] bool follows_decode_runs() const override { return true; }
  void on_drop(const core::Drop& /*drop*/) override { ++drops; }
  void on_free_blocks(const core::FreedBlocks& gone) override { blocks_freed += std::ssize(gone.entries); }
  void on_compact(const core::Compacted& compacted) override {
    ++compactions;
    blocks_freed += compacted.moved.alloc_units_before - compacted.moved.alloc_units;
  }
  void print() const {
    for (const auto& [name, count] :
         std::map<std::string, std::int64_t>{{"rejected", rejected},
                                             {"arrivals caused", caused},
                                             {"preempted", preempted},
                                             {"hits", hits},
                                             {"rehits", rehits},
                                             {"partial rehits", partial_rehits},
                                             {"refused passes", refused},
                                             {"steps in runs", in_runs},
                                             {"blocks granted in stretches", in_decode_runs},
                                             {"drops", drops},
                                             {"ranges copied", copies},
                                             {"ranges slid", slides},
                                             {"passes that left no request", empty},
                                             {"compactions", compactions},
                                             {"blocks let go", blocks_freed}})
      std::printf("%s %lld; ", name.c_str(), static_cast<long long>(count));
    std::printf("\n");
  }
  std::int64_t rejected{0}, preempted{0}, hits{0}, rehits{0}, refused{0}, in_runs{0}, drops{0},
      blocks_freed{0};
  const core::Workload* workload{nullptr};  ///< of the observed run
  /// Arrivals after other requests: at the end of these, or at their own time
  std::int64_t caused{0}, waited_in_time{0};
  std::int64_t copies{0}, slides{0}, in_place{0};
  std::int64_t compactions{0};
  std::int64_t empty{0};           ///< scheduler steps that preempted every request
  std::int64_t in_decode_runs{0};  ///< blocks granted in decode runs
  std::int64_t partial_rehits{0};  ///< hits of most of the tokens that the request had written before

 private:
  std::map<RequestId, std::int64_t> preempted_at_;
};

/// Checks that the overlays of a state add up to it: all stranded memory is of one of the two kinds.
template <class States, class Parts>
void expect_parts_of(const States& states, const Parts& parts) {
  using observe::Overlay;
  using observe::State;
  const auto of = [&](Overlay overlay) { return parts[index(overlay)]; };
  const auto state = [&](State s) { return states[index(s)]; };
  EXPECT_TRUE(of(Overlay::kStrandedTooShort) + of(Overlay::kStrandedFragmented) == state(State::kStranded));
  EXPECT_TRUE(of(Overlay::kAvailable) ==
              state(State::kCached) + state(State::kStranded) + state(State::kFree));
  EXPECT_TRUE(of(Overlay::kCachedDuplicate) <= state(State::kCached));
  EXPECT_TRUE(of(Overlay::kCachedUnreachable) <= state(State::kCached));
}

/// All observed events of a run as one text. `beside`: makes more observers, which are called after the ledger, once
/// the ledger exists. `more_sinks`: for the ledger.
inline std::string observe_run(
    const RandomCase& c, bool naive, core::CourseSource* courses = nullptr, Coverage* coverage = nullptr,
    const std::function<std::vector<core::Observer*>(const core::MemoryLayout&, const observe::Ledger&)>&
        beside = {},
    const std::vector<observe::LedgerSink*>& more_sinks = {}) {
  auto allocator = c.make_allocator(naive);
  if (!allocator) return "pool: " + allocator.error().to_string();
  observe::Integrals integrals;
  observe::Peak peak;
  observe::Timeline timeline(SimTime{Ticks{1 << 22}}, 7);
  observe::Overlays overlays(allocator.value()->layout(), peak);
  observe::KindSums kinds(allocator.value()->layout(), peak);
  std::vector<observe::LedgerSink*> sinks{&integrals, &peak, &timeline, &overlays, &kinds};
  sinks.insert(sinks.end(), more_sinks.begin(), more_sinks.end());
  observe::Ledger ledger(c.workload, allocator.value()->layout(), c.keep, sinks);
  std::vector<observe::RequestRecord> rows(c.workload.input.size());
  observe::RequestRecords records(rows, false);
  std::vector<observe::RequestHeld> held_rows(c.workload.input.size());
  observe::RequestMemory held(held_rows, allocator.value()->layout().alloc_unit_tokens,
                              allocator.value()->layout().states.blocks);
  observe::PlacingRecords placing;
  std::vector<core::Observer*> observers{&ledger, &records, &placing, &held};
  if (beside)
    for (core::Observer* o : beside(allocator.value()->layout(), ledger)) observers.push_back(o);
  if (coverage != nullptr) {
    coverage->workload = &c.workload;
    observers.push_back(coverage);
  }
  if (core::Observer* const clock = allocator.value()->clock()) observers.push_back(clock);
  const core::ReplicaSetup run{.workload = &c.workload,
                               .keep = c.keep,
                               .keeps_nothing = c.keeps_nothing(),
                               .courses = courses,
                               .courses_find = c.courses_find,
                               .reads_holes = c.reads_holes,
                               .prompt_rows = c.prompt_rows,
                               .reads = c.reads,
                               .latency = c.latency.get(),
                               .observers = observers};
  const Status status = serve_alone(run, c.scheduler, *allocator.value(), c.workload.order, naive);
  if (!status) return "error: " + status.error().to_string();
  std::string out;
  const auto put = [&](Wide value) {
    out += std::to_string(static_cast<std::int64_t>(value >> 32)) + ":" +
           std::to_string(static_cast<std::int64_t>(value & 0xFFFFFFFF)) + " ";
  };
  for (const auto& r : rows) {
    for (const std::int64_t n :
         {static_cast<std::int64_t>(r.status), r.arrival.since_start.count,
          r.first_scheduled.since_start.count, r.first_token.since_start.count, r.finish.since_start.count,
          static_cast<std::int64_t>(r.preemptions), r.computed_tokens,
          static_cast<std::int64_t>(r.prefix_hit_tokens), r.rehit_tokens})
      put(n);
    out += '\n';
  }
  for (const Wide w : integrals.cell_ticks()) put(w);
  put(integrals.running_ticks());
  put(integrals.ticks());
  put(integrals.max_running());
  put(records.iterations());
  put(records.computed_tokens());
  put(peak.time().since_start.count);
  for (const std::int64_t n : peak.cells()) put(n);
  put(ledger.evictions().tokens);
  put(ledger.evictions().blocks_freed);
  put(ledger.evictions().hole_cells_peak);
  put(ledger.evictions().compactions);
  put(ledger.evictions().compacted_cells);
  const observe::PlacingCosts& placed = placing.costs();
  for (const std::int64_t n :
       {placed.copies, placed.copied_tokens, placed.compactions, placed.slid_tokens, placed.delay.count})
    put(n);
  for (const auto& bin : timeline.bins())
    for (std::size_t row = 0; row < observe::kTimelineRows; ++row) {
      put(bin.value_ticks[row]);
      put(bin.least[row]);
      put(bin.greatest[row]);
    }
  const core::PoolCounts end = allocator.value()->counts();
  for (const std::int64_t n :
       {end.free, end.cached, end.held, end.distinct_names, end.duplicates, end.unreachable, end.sharers})
    put(n);
  for (const Wide w : overlays.count_ticks(integrals.cell_ticks(), ledger.end())) put(w);
  for (const std::int64_t n : overlays.at_peak()) put(n);
  for (const auto& kind : kinds.count_ticks())
    for (const Wide w : kind) put(w);
  for (const auto& kind : kinds.at_peak())
    for (const std::int64_t n : kind) put(n);
  for (const std::size_t s : observe::kHeldStates) {  // all of a state's bytes are of one of its kinds
    Wide ticks = 0;
    std::int64_t at_peak = 0;
    for (const auto& kind : kinds.count_ticks()) ticks += kind[s];
    for (const auto& kind : kinds.at_peak()) at_peak += kind[s];
    if (kinds.at_peak().empty()) continue;
    EXPECT_TRUE(ticks == integrals.cell_ticks()[s]);
    if (!peak.seen()) continue;
    EXPECT_EQ(at_peak, peak.cells()[s]);
  }
  Wide held_ticks = 0;
  for (const RequestId r : ids_below<RequestId>(c.workload.size())) {
    EXPECT_EQ(held_rows[index(r)].alloc_units, 0);
    held_ticks += held_rows[index(r)].alloc_unit_ticks;
    put(held_rows[index(r)].alloc_unit_ticks);
    put(held_rows[index(r)].most_alloc_units);
  }
  // At the end, no memory of any request is left.
  Wide held_states =
      overlays.count_ticks(integrals.cell_ticks(), ledger.end())[index(observe::Overlay::kSavedBySharing)];
  for (const observe::State s :
       {observe::State::kMetadata, observe::State::kLive, observe::State::kReserved, observe::State::kHole,
        observe::State::kTail, observe::State::kPadding, observe::State::kInternal})
    held_states += integrals.cell_ticks()[index(s)];
  EXPECT_TRUE(held_ticks * allocator.value()->layout().alloc_unit_counts() == held_states);
  expect_parts_of(integrals.cell_ticks(), overlays.count_ticks(integrals.cell_ticks(), ledger.end()));
  if (peak.seen()) expect_parts_of(peak.cells(), overlays.at_peak());
  // Drained: no request has left anything.
  using observe::State;
  for (const State s : {State::kLive, State::kReserved, State::kHole, State::kTail, State::kInternal,
                        State::kPadding, State::kMetadata})
    EXPECT_EQ(ledger.cells()[index(s)], 0) << observe::kStateNames[index(s)];
  if (!c.keep.evicts() && courses == nullptr && ledger.layout().groups.empty()) {
    EXPECT_TRUE(integrals.cell_ticks()[index(State::kHole)] == 0);
  }
  return out;
}

}  // namespace kvplan::test
