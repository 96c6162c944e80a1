// Fast against naive on random problems: every observable number equal. And the ledger against a count that
// walks every cell after every event. A failure prints the seed, which makes the case again.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "simulator/observe/integral.h"
#include "simulator/observe/ledger.h"
#include "simulator/observe/requests.h"
#include "simulator/observe/timeline.h"
#include "tests/support/cell_walker.h"
#include "tests/support/random_case.h"

namespace kvplan {
namespace {

using test::draw_case;
using test::RandomCase;

std::int64_t cases(std::int64_t usual) {
  const char* more = std::getenv("KVPLAN_RANDOM_CASES");
  return more == nullptr ? usual : std::atoll(more);
}

/// Compares the walker's count with the ledger's after every event that settles something.
class Recount final : public core::Observer {
 public:
  Recount(const observe::Ledger& ledger, const test::CellWalker& walker) : ledger_(ledger), walker_(walker) {}
  void on_pass_end(const core::Pass& pass) override { compare("pass", pass.time); }
  void on_settled(SimTime time, const core::PoolCounts& /*pool*/) override { compare("settled", time); }
  int differences{0};

 private:
  void compare(const char* when, SimTime time) {
    if (differences > 0) return;
    const observe::StateCounts walked = walker_.count();
    for (std::size_t s = 0; s < observe::kStates; ++s) {
      if (s == index(observe::State::kPadding) || walked[s] == ledger_.cells()[s]) continue;
      ++differences;
      ADD_FAILURE() << when << " at tick " << time.since_start.count << ": " << observe::kStateNames[s]
                    << " walked " << walked[s] << ", ledger " << ledger_.cells()[s];
    }
  }
  const observe::Ledger& ledger_;
  const test::CellWalker& walker_;
};

/// How often the cases come to what they are meant to come to.
class Coverage final : public core::Observer {
 public:
  void on_arrival(SimTime /*time*/, RequestId /*request*/, bool accepted) override {
    rejected += accepted ? 0 : 1;
  }
  void on_preempt(const core::Release& /*release*/) override { ++preempted; }
  void on_admit(const core::Admission& a) override {
    if (a.hit_tokens > 0) ++(a.again ? rehits : hits);
  }
  void on_pass_end(const core::Pass& pass) override { refused += pass.refused ? 1 : 0; }
  void on_steps(const core::Steps& steps) override { in_runs += steps.series.steps - 1; }
  void on_drop(const core::Drop& drop) override {
    ++drops;
    let_go += static_cast<std::int64_t>(drop.released.size());
  }
  std::int64_t rejected{0}, preempted{0}, hits{0}, rehits{0}, refused{0}, in_runs{0}, drops{0}, let_go{0};
};

/// Everything that a run is observed to do, as one text.
std::string observe_run(const RandomCase& c, bool naive, bool recount, Coverage* coverage = nullptr) {
  auto allocator = c.make_allocator(naive);
  if (!allocator) return "pool: " + allocator.error().to_string();
  observe::Integrals integrals;
  observe::Peak peak;
  observe::Timeline timeline(SimTime{Ticks{1 << 22}}, 7);
  observe::Ledger ledger(c.workload, allocator.value()->layout(), c.keep, {&integrals, &peak, &timeline});
  observe::RequestRecords records(c.workload.size());
  std::vector<core::Observer*> observers{&ledger, &records};
  test::CellWalker walker(c.workload, allocator.value()->layout(), c.keep);
  Recount compare(ledger, walker);
  if (recount) observers.insert(observers.end(), {&walker, &compare});
  if (coverage != nullptr) observers.push_back(coverage);
  const core::ReplicaRun run{.workload = &c.workload,
                             .requests = c.workload.order,
                             .scheduler = c.scheduler,
                             .keep = c.keep,
                             .allocator = allocator.value().get(),
                             .latency = c.latency.get(),
                             .observers = observers};
  const Status status = naive ? core::run_naive(run) : core::run_fast(run);
  if (!status) return "error: " + status.error().to_string();
  std::string out;
  const auto put = [&](Wide value) {
    out += std::to_string(static_cast<std::int64_t>(value >> 32)) + ":" +
           std::to_string(static_cast<std::int64_t>(value & 0xFFFFFFFF)) + " ";
  };
  for (const auto& r : records.records()) {
    for (const std::int64_t n :
         {static_cast<std::int64_t>(r.status), r.first_scheduled.since_start.count,
          r.first_token.since_start.count, r.finish.since_start.count,
          static_cast<std::int64_t>(r.preemptions), r.computed_tokens, r.prefix_hit_tokens, r.rehit_tokens})
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
  put(ledger.evictions().blocks_let_go);
  put(ledger.evictions().hole_cells_peak);
  for (const auto& bin : timeline.bins())
    for (std::size_t row = 0; row < observe::kTimelineRows; ++row) {
      put(bin.value_ticks[row]);
      put(bin.least[row]);
      put(bin.greatest[row]);
    }
  const core::PoolCounts end = allocator.value()->counts();
  for (const std::int64_t n : {end.free, end.cached, end.held, end.distinct_names}) put(n);
  // Drained: nothing of a request is left.
  using observe::State;
  for (const State s : {State::kLive, State::kReserved, State::kHole, State::kTail, State::kInternal})
    EXPECT_EQ(ledger.cells()[index(s)], 0) << observe::kStateNames[index(s)];
  if (!c.keep.evicts()) {
    EXPECT_TRUE(integrals.cell_ticks()[index(State::kHole)] == 0);
  }
  return out;
}

TEST(Differential, FastEqualsNaive) {
  Coverage coverage;
  for (std::int64_t seed = 1; seed <= cases(1500); ++seed) {
    const auto c = draw_case(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    ASSERT_EQ(observe_run(*c, true, false), observe_run(*c, false, false, &coverage));
  }
  for (const std::int64_t count : {coverage.rejected, coverage.preempted, coverage.hits, coverage.rehits,
                                   coverage.refused, coverage.in_runs, coverage.drops, coverage.let_go})
    EXPECT_GT(count, 100);
  std::printf(
      "rejected %lld preempted %lld hits %lld rehits %lld refused %lld in runs %lld drops %lld "
      "let go %lld\n",
      static_cast<long long>(coverage.rejected), static_cast<long long>(coverage.preempted),
      static_cast<long long>(coverage.hits), static_cast<long long>(coverage.rehits),
      static_cast<long long>(coverage.refused), static_cast<long long>(coverage.in_runs),
      static_cast<long long>(coverage.drops), static_cast<long long>(coverage.let_go));
}

TEST(Differential, LedgerEqualsWalkingEveryCell) {
  for (std::int64_t seed = 1; seed <= cases(150); ++seed) {
    const auto c = draw_case(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    observe_run(*c, true, true);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace kvplan
