// Several replicas on one clock: fast replicas act like naive ones, with every router and latencies from none to long.
// (tests/oracle has the numbers from a second implementation, except for prefix-affine and two-choices.)
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "simulator/base/random.h"
#include "simulator/routing/least_of.h"
#include "simulator/routing/load_measure.h"
#include "simulator/routing/routers.h"
#include "tests/support/fleet_case.h"
#include "tests/support/whole_run.h"

namespace kvplan {
namespace {

using test::outputs;

runs::Scenario draw_scenario(Random& random, std::string_view router) {
  const bool paged = random.chance(3, 4);
  const std::int64_t block = random.chance(1, 2) ? 4 : 8;
  std::vector<std::string> texts{
      paged ? "memory.allocator=paged:block_tokens=" + std::to_string(block)
            : std::string("memory.allocator=contiguous:fit=first,reserve=oracle"),
      "memory.pool_tokens=" + std::to_string(random.between(150, 600)),
      "engine=vllm-v1:token_budget=" + std::to_string(random.between(8, 200)) +
          ",max_seqs=" + std::to_string(random.between(1, 20)),
      "fleet=replicas=" + std::to_string(random.between(1, 6)) + ",router=" + std::string(router)};
  texts.push_back(test::fleet_latency(random));
  // The latter two follow courses.
  constexpr std::array<const char*, 3> kPlacements{"holes", "reuse", "compact"};
  if (random.chance(1, 3))
    texts.push_back("eviction=window:window=24,placement=" +
                    std::string(kPlacements[paged ? random.below(3) : 0]));
  return test::scenario_of(texts);
}

TEST(Fleet, FastReplicasDoWhatNaiveOnesDoWithEveryRouter) {
  for (const routing::RouterEntry* const entry : routing::routers()) {
    const std::string name(entry->descriptor.name);
    std::vector<std::string> texts{name};
    for (const Param& param : entry->descriptor.params)
      if (param.name == routing::kLoadMeasureParam.name)
        for (const char* const measure : {":by=tokens", ":by=blocks"}) texts.push_back(name + measure);
    if (name == "prefix-affine") texts.push_back(name + ":balance_abs=1,balance_rel=1");
    for (const std::string& text : texts) {
      Random random(11, text);
      for (int i = 0; i < 100; ++i) {
        SCOPED_TRACE(text + " " + std::to_string(i));
        const traces::Trace trace = test::fleet_trace(random);
        const runs::Scenario scenario = draw_scenario(random, text);
        ASSERT_EQ(outputs(scenario, trace, false), outputs(scenario, trace, true));
      }
    }
  }
}

TEST(Fleet, ReplicasThatNothingJoinsDoTheSameOnAnyNumberOfThreads) {
  for (const char* const router : {"round-robin", "two-choices:choices=1"}) {
    Random random(20261123);
    for (int round = 0; round < 60; ++round) {
      const traces::Trace trace = test::fleet_trace(random);
      const runs::Scenario scenario = draw_scenario(random, router);
      const std::string alone = outputs(scenario, trace, false);
      ASSERT_EQ(outputs(scenario, trace, true), alone) << router << ' ' << round;
      for (const int threads : {2, 3, 16})
        ASSERT_EQ(outputs(scenario, trace, false, threads), alone) << router << ' ' << round;
    }
  }
}

TEST(Fleet, PrefixAffineFollowsTheCacheUntilTheFleetIsOutOfBalance) {
  // Two families of prompts, one after the other, with time between them.
  traces::Trace trace;
  trace.prefix.block_tokens = 8;
  trace.prefix.offsets.push_back(0);
  for (std::uint32_t i = 0; i < 12; ++i) {
    trace.arrival_ns.push_back(std::int64_t{i} * 1'000'000'000);
    trace.input_tokens.push_back(16);
    trace.output_tokens.push_back(1);
    const std::uint32_t family = i % 2;
    for (const std::uint32_t id : {10 * family, 10 * family + 1}) trace.prefix.ids.push_back(id);
    trace.prefix.offsets.push_back(trace.prefix.ids.size());
  }
  trace.prefix.distinct = 12;
  trace.digest = "0123456789abcdef";
  const auto replicas_of = [&](const std::string& router) {
    const runs::Scenario scenario =
        test::scenario_of({"memory.allocator=paged:block_tokens=8", "memory.pool_tokens=200",
                           "fleet=replicas=2,router=" + router, "latency=affine:base_ns=1000"});
    return runs::run_scenario(scenario, trace, {}).value().replica_of;
  };
  // All go to replica 0: the second family finds no cached prompt, and both replicas are idle.
  EXPECT_EQ(replicas_of("prefix-affine"), std::vector<std::int32_t>(12, 0));
  EXPECT_EQ(replicas_of("round-robin"), (std::vector<std::int32_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}));
  // All at one time: the first request goes to replica 0; the others of its family find nothing yet, so load decides.
  std::fill(trace.arrival_ns.begin(), trace.arrival_ns.end(), 0);
  EXPECT_EQ(replicas_of("prefix-affine"), (std::vector<std::int32_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}));
  // Later ones go to the replica with their prompt, until one has two requests more than the other.
  for (std::size_t i = 1; i < 12; ++i) trace.arrival_ns[i] = 500;
  trace.arrival_ns[0] = 0;
  EXPECT_EQ(replicas_of("prefix-affine:balance_abs=1,balance_rel=1")[2], 0);
}

/// Replicas that have a load and do no work.
class Standing {
 public:
  explicit Standing(std::int64_t replicas) {
    for (std::int64_t i = 0; i < replicas; ++i) replicas_.push_back(std::make_unique<Loaded>(loads_[i]));
  }
  core::Load& operator[](std::int64_t i) { return loads_[i]; }
  [[nodiscard]] core::FleetView view() const { return {replicas_, SimTime{}}; }

 private:
  class Loaded final : public core::Replica {
   public:
    explicit Loaded(const core::Load& load) : load_(load) {}
    [[nodiscard]] SimTime step_end() const override { return core::kNever; }
    [[nodiscard]] SimTime observed_until() const override { return core::kNever; }
    [[nodiscard]] bool wants_pass() const override { return false; }
    bool deliver(RequestId /*request*/, SimTime /*time*/) override { return false; }
    Status pass(SimTime /*now*/) override { return Done{}; }
    void end_steps(std::vector<RequestId>& /*ended*/) override {}
    void end() override {}
    [[nodiscard]] core::Load load(SimTime /*now*/) const override { return load_; }
    [[nodiscard]] std::int64_t cached_tokens(RequestId /*request*/) const override { return 0; }

   private:
    const core::Load& load_;
  };
  std::map<std::int64_t, core::Load> loads_;  // do not change
  std::vector<std::unique_ptr<core::Replica>> replicas_;
};

std::unique_ptr<core::Router> router_of(const std::string& text, std::int64_t replicas) {
  static const core::Workload kNone;
  const Choice choice = parse_component(text, "router", routing::router_descriptors()).value();
  return routing::router_entry(choice).make(choice, kNone, replicas);
}

std::string two_choices(std::int64_t choices, const std::string& by, std::uint64_t seed) {
  return "two-choices:choices=" + std::to_string(choices) + ",by=" + by + ",seed=" + std::to_string(seed);
}

/// Draws replicas one by one from a list of all, removing each.
std::int64_t naive_two_choices(Random& draws, Standing& fleet, std::int64_t replicas, std::int64_t choices,
                               const std::string& by) {
  std::vector<std::int64_t> left(static_cast<std::size_t>(replicas));
  std::iota(left.begin(), left.end(), 0);
  std::vector<std::pair<std::int64_t, std::int64_t>> drawn;  // load, number
  while (!left.empty() && std::ssize(drawn) < choices) {
    const auto at = left.begin() + static_cast<std::ptrdiff_t>(draws.below(left.size()));
    const core::Load& load = fleet[*at];
    const std::int64_t much = by == "tokens"   ? load.tokens
                              : by == "blocks" ? load.blocks
                                               : load.running + load.waiting;
    drawn.emplace_back(much, *at);
    left.erase(at);
  }
  return std::min_element(drawn.begin(), drawn.end())->second;
}

TEST(Fleet, TwoChoicesIsTheLeastLoadedOfThoseThatAreDrawn) {
  Random random(20261126, "two choices");
  for (int round = 0; round < 600; ++round) {
    const std::int64_t replicas = random.between(1, 40), choices = random.between(1, 16);
    const std::string by = std::array{"requests", "tokens", "blocks"}[random.below(3)];
    const std::uint64_t seed = random.below(5);
    SCOPED_TRACE(std::to_string(replicas) + " replicas, " + two_choices(choices, by, seed));
    Standing fleet(replicas);
    const auto router = router_of(two_choices(choices, by, seed), replicas);
    Random draws(seed, "router two-choices");
    for (const RequestId request : ids_below<RequestId>(50)) {
      for (std::int64_t i = 0; i < replicas; ++i)
        fleet[i] = {.running = random.between(0, 2),
                    .waiting = random.between(0, 2),
                    .tokens = random.between(0, 5),
                    .blocks = random.between(0, 5)};
      ASSERT_EQ(router->route(request, fleet.view()), naive_two_choices(draws, fleet, replicas, choices, by));
    }
  }
}

/// The numbers of requests on the busiest and the idlest of 64 replicas, after 6,400 that all stay.
std::pair<std::int64_t, std::int64_t> most_and_least(std::int64_t choices, std::uint64_t seed) {
  Standing fleet(64);
  const auto router = router_of(two_choices(choices, "requests", seed), 64);
  for (const RequestId request : ids_below<RequestId>(6400))
    ++fleet[router->route(request, fleet.view())].running;
  std::vector<std::int64_t> requests;
  for (std::int64_t i = 0; i < 64; ++i) requests.push_back(fleet[i].running);
  const auto [least, most] = std::minmax_element(requests.begin(), requests.end());
  return {*most, *least};
}

TEST(Fleet, ASecondChoiceLevelsWhatOneLeavesUneven) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    // One choice: 100 each, give or take ten. Two choices: the busiest has only a few more than the mean.
    const auto [most_of_one, least_of_one] = most_and_least(1, seed);
    EXPECT_GT(most_of_one, 115);
    EXPECT_LT(most_of_one, 150);
    EXPECT_GT(least_of_one, 60);
    EXPECT_LT(most_and_least(2, seed).first, 105);
  }
}

TEST(Fleet, AsManyChoicesAsReplicasAreLeastLoaded) {
  const auto served = [](const runs::Scenario& scenario, const traces::Trace& trace) {
    const auto result = runs::run_scenario(scenario, trace, {});
    return result.ok() ? runs::requests_csv(result.value()) : result.error().to_string();
  };
  for (const std::string by : {"requests", "tokens", "blocks"}) {
    Random random(20261126, by);
    for (int round = 0; round < 60; ++round) {
      const traces::Trace trace = test::fleet_trace(random);
      Random same = random;
      const runs::Scenario all = draw_scenario(random, "least-loaded:by=" + by);
      const std::int64_t choices = all.replicas + random.between(0, 1);
      const runs::Scenario drawn = draw_scenario(same, two_choices(choices, by, 7));
      ASSERT_EQ(served(drawn, trace), served(all, trace)) << by << ' ' << round;
    }
  }
}

TEST(Fleet, LeastOfIsTheFirstOfTheLeast) {
  Random random(7, "least");
  for (const std::int64_t members : {1, 2, 3, 5, 8, 13, 100}) {
    routing::LeastOf least(members);
    std::vector<std::int64_t> plain(static_cast<std::size_t>(members), 0);
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t at = random.below(static_cast<std::uint64_t>(members));
      plain[at] = static_cast<std::int64_t>(random.below(4));
      least.set(static_cast<std::int64_t>(at), plain[at]);
      ASSERT_EQ(least.least(), std::min_element(plain.begin(), plain.end()) - plain.begin());
    }
  }
}

}  // namespace
}  // namespace kvplan
