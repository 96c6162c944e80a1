// Logs of several replicas: the same bytes for every way of running the fleet; replays find them equal at every moment,
// and find every change of their meaning.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tests/support/fleet_case.h"
#include "tests/support/random_cases.h"
#include "tests/validator/fleet_log.h"
#include "tests/validator/hand_log.h"
#include "tests/validator/mutations.h"
#include "tests/validator/replays.h"

namespace kvplan {
namespace {

using test::replay;
using test::Stepping;
using validator::Report;

/// Measured values by name.
std::map<std::string, std::int64_t> measured(const Report& report) {
  std::map<std::string, std::int64_t> out;
  for (const validator::Quantity& quantity : report.quantities) out[quantity.name] = quantity.measured;
  return out;
}

/// The results of the replay are those of the run's report.
void expect_as_reported(const Report& replayed, const runs::RunResult& run) {
  if (!run.memory) return;  // no step ran
  const auto found = measured(replayed);
  EXPECT_EQ(static_cast<double>(found.at("peak_tick")) / 1024 / 1e9, run.memory->peak_time_s);
  EXPECT_EQ(found.at("peak_running"), run.max_running);
  EXPECT_EQ(found.at("most_hole_bytes"), run.hole_bytes_peak);
}

TEST(FleetLog, EveryFleetReplaysEqualHoweverItWasRun) {
  std::map<std::string, std::int64_t> met;
  for (const std::string& router : test::all_routers()) {
    Random random(5, router);
    for (std::int64_t i = 0; i < 2 * test::kFleetMemories; ++i) {
      SCOPED_TRACE(router + " " + std::to_string(i));
      const traces::Trace trace = test::fleet_trace(random);
      const runs::Scenario scenario = test::draw_fleet(random, i % test::kFleetMemories, router);
      const auto fast = test::log_of_fleet(scenario, trace, Stepping::kFast);
      const auto naive = test::log_of_fleet(scenario, trace, Stepping::kNaive, 3);
      ASSERT_TRUE(fast.bytes == naive.bytes);
      const auto log = test::read_log(fast.bytes);
      EXPECT_EQ(log.header.replicas, scenario.replicas);
      EXPECT_TRUE(test::write_log(log) == fast.bytes);
      const Report report = replay(log);
      ASSERT_EQ(report.first_problem, "");
      EXPECT_EQ(report.events, static_cast<std::int64_t>(log.records.size()));
      expect_as_reported(report, fast.result);
      for (const event_log::Record& record : log.records) {
        if (std::holds_alternative<event_log::Preempt>(record.fact)) ++met["preempted"];
        if (std::holds_alternative<event_log::Reclaim>(record.fact)) ++met["reclaimed"];
        if (std::holds_alternative<event_log::Drop>(record.fact)) ++met["dropped"];
        const auto* const run = std::get_if<event_log::StepRun>(&record.fact);
        if (run != nullptr && run->steps > 3) ++met["long run"];
        if (run != nullptr && run->span() == 0) ++met["step of no ticks"];
      }
    }
  }
  for (const char* what : {"preempted", "reclaimed", "dropped", "long run", "step of no ticks"})
    EXPECT_GT(met[what], 20) << what;
}

TEST(FleetLog, ReplicasThatNothingJoinsLogTheSameOnAnyNumberOfThreads) {
  Random random(20261125);
  for (std::int64_t i = 0; i < 2 * test::kFleetMemories; ++i) {
    const traces::Trace trace = test::fleet_trace(random);
    const runs::Scenario scenario = test::draw_fleet(random, i % test::kFleetMemories, "round-robin");
    const std::string alone = test::log_of_fleet(scenario, trace, Stepping::kFast).bytes;
    for (const int threads : {2, 16})
      ASSERT_TRUE(test::log_of_fleet(scenario, trace, Stepping::kFast, threads).bytes == alone) << i;
  }
}

TEST(FleetLog, HandMadeCountsAsWorkedOut) {
  const auto [header, records] = test::hand_made_fleet_log();
  const Report report = replay({header, records});
  EXPECT_EQ(report.first_problem, "");
  EXPECT_EQ(report.replicas.size(), 2U);
  const auto found = measured(report);
  EXPECT_EQ(found.at("peak_reserved_bytes"), 7);
  EXPECT_EQ(found.at("replicas[1].peak_tail_bytes"), 3);
  // Each total is increased by one, one at a time: all of them are compared, and reported with their replica.
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (std::size_t s = 0; records[i].claims.has_totals && s < event_log::kStates; ++s) {
      auto changed = records;
      ++changed[i].claims.totals[s];
      const Report wrong = replay({header, changed});
      EXPECT_EQ(wrong.byte_mismatches, 1) << i << ", state " << s;
      const bool of_all = std::holds_alternative<event_log::TickEnd>(records[i].fact);
      const std::string of_replica =
          of_all ? "all replicas: " : "replica " + std::to_string(records[i].replica) + ": ";
      EXPECT_NE(wrong.first_problem.find(of_replica), std::string::npos) << wrong.first_problem;
    }
  }
}

TEST(FleetLog, EachReplicaIsReplayedOnAMemoryOfItsOwn) {
  const auto [header, records] = test::hand_made_fleet_log();
  int made = 0;
  const Report report = replay({header, records}, [&]() -> Result<std::unique_ptr<validator::Backend>> {
    ++made;
    return validator::make_host_backend();
  });
  EXPECT_EQ(report.first_problem, "");
  EXPECT_EQ(made, 2);
  // The second replica gets no memory.
  made = 0;
  const Report failed = replay({header, records}, [&]() -> Result<std::unique_ptr<validator::Backend>> {
    if (++made == 2) return bad_input("no memory");
    return validator::make_host_backend();
  });
  EXPECT_EQ(failed.first_problem, "no memory");
}

TEST(FleetLog, EveryMutationIsFound) {
  std::map<std::string, int> done;
  const auto try_all = [&](const test::WholeLog& log, Random& random) {
    for (const auto mutations : {test::mutations(), test::fleet_mutations()}) {
      for (const test::Mutation& mutation : mutations) {
        auto changed = log;
        std::string what;
        if (!mutation.apply(changed, random, what)) continue;
        ++done[mutation.name];
        const bool noticed = !test::readable(changed) || !replay(changed, 64).clean();
        EXPECT_TRUE(noticed) << mutation.name << " (" << what << ")";
      }
    }
  };
  const auto routers = test::all_routers();
  for (std::int64_t memory = 0; memory < test::kFleetMemories; ++memory) {
    for (std::uint64_t seed = 1; std::cmp_less_equal(seed, test::random_cases(3, 2)); ++seed) {
      SCOPED_TRACE("memory " + std::to_string(memory) + ", seed " + std::to_string(seed));
      Random random(seed, "mutated fleet " + std::to_string(memory));
      const traces::Trace trace = test::fleet_trace(random);
      const auto scenario = test::draw_fleet(random, memory, routers[random.below(routers.size())]);
      try_all(test::read_log(test::log_of_fleet(scenario, trace, Stepping::kFast).bytes), random);
    }
  }
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, "hand-made fleet");
    const auto [header, records] = test::hand_made_fleet_log();
    try_all({header, records}, random);
  }
  for (const test::Mutation& mutation : test::fleet_mutations())
    EXPECT_GE(done[mutation.name], 10) << mutation.name << " was hardly tried";
}

}  // namespace
}  // namespace kvplan
