// Several replicas on one clock: the fast ones do what the naive ones do, with every router and every latency from none
// to long. (tests/oracle has the numbers from a second implementation, prefix-affine aside.)
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "simulator/base/random.h"
#include "simulator/routing/least_of.h"
#include "simulator/routing/routers.h"
#include "tests/support/fleet_case.h"
#include "tests/support/whole_run.h"

namespace kvplan {
namespace {

using test::outputs;

plan::Scenario draw_scenario(Random& random, std::string_view router) {
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
  if (random.chance(1, 4)) texts.emplace_back("eviction=window:window=24");
  return test::scenario_of(texts);
}

TEST(Fleet, FastReplicasDoWhatNaiveOnesDoWithEveryRouter) {
  const std::set<std::string> by_load{"least-loaded", "session-affine"};
  for (const routing::RouterEntry* const entry : routing::routers()) {
    const std::string name(entry->descriptor.name);
    std::vector<std::string> texts{name};
    if (by_load.count(name) > 0) texts = {name, name + ":by=tokens", name + ":by=blocks"};
    if (name == "prefix-affine") texts.push_back(name + ":balance_abs=1,balance_rel=1");
    for (const std::string& text : texts) {
      Random random(11, text);
      for (int i = 0; i < 100; ++i) {
        SCOPED_TRACE(text + " " + std::to_string(i));
        const traces::Trace trace = test::fleet_trace(random);
        const plan::Scenario scenario = draw_scenario(random, text);
        ASSERT_EQ(outputs(scenario, trace, false), outputs(scenario, trace, true));
      }
    }
  }
}

TEST(Fleet, ReplicasThatNothingJoinsDoTheSameOnAnyNumberOfThreads) {
  Random random(20261123);
  for (int round = 0; round < 60; ++round) {
    const traces::Trace trace = test::fleet_trace(random);
    const plan::Scenario scenario = draw_scenario(random, "round-robin");
    const std::string alone = outputs(scenario, trace, false);
    for (const int threads : {2, 3, 16}) ASSERT_EQ(outputs(scenario, trace, false, threads), alone) << round;
  }
}

TEST(Fleet, PrefixAffineFollowsTheCacheUntilTheFleetIsOutOfBalance) {
  // Two families of prompts, one after the other, with time between.
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
    const plan::Scenario scenario =
        test::scenario_of({"memory.allocator=paged:block_tokens=8", "memory.pool_tokens=200",
                           "fleet=replicas=2,router=" + router, "latency=affine:base_ns=1000"});
    return plan::run_scenario(scenario, trace, {}).value().replica_of;
  };
  // All go to replica 0: the second family finds nothing anywhere, and both are idle.
  EXPECT_EQ(replicas_of("prefix-affine"), std::vector<std::int32_t>(12, 0));
  EXPECT_EQ(replicas_of("round-robin"), (std::vector<std::int32_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}));
  // At one moment: the first goes to replica 0, the others of its family find nothing yet and go by load.
  std::fill(trace.arrival_ns.begin(), trace.arrival_ns.end(), 0);
  EXPECT_EQ(replicas_of("prefix-affine"), (std::vector<std::int32_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}));
  // Later ones go where their prompt is, until a replica has more than one request more than the other.
  for (std::size_t i = 1; i < 12; ++i) trace.arrival_ns[i] = 500;
  trace.arrival_ns[0] = 0;
  EXPECT_EQ(replicas_of("prefix-affine:balance_abs=1,balance_rel=1")[2], 0);
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
