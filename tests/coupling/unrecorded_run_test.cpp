// Runs of policies that decide at random or by position, without a closed form: on any model, without a recording.
#include <gtest/gtest.h>

#include "tests/coupling/settled.h"
#include "tests/coupling/small_model.h"

namespace kvplan::small_model {
namespace {

constexpr const char* kPolicies[]{
    "random:budget=20,recent=2",
    "seed-ring:window=25,chunk=8",
    "expr:score=\"position<4?1000:position/(1+age)\",budget=20",
    "expr:score=\"head==1?position:age+layer\",budget=20",
    "expr:score=\"age<30||layer<2\",budget=20,scope=layer",
};

/// A recording changes nothing: the run equals that with a recording of the model, block by block.
TEST(UnrecordedRuns, AreThoseWithAnyRecording) {
  const auto trace = trace_of(40, 150);
  std::int64_t preemptions = 0;
  std::int64_t returned = 0;
  for (const std::string policy : kPolicies)
    for (const char* placement : {"holes", "reuse", "compact"})
      for (const char* table : {"all", "layer", "head"}) {
        SCOPED_TRACE(policy + " " + placement + " " + table);
        const Values values = scenario_with(policy + ",placement=" + placement, table, "400");
        const auto fast = run(values, false, false, trace);
        expect_twins(fast, run(values, false, true, trace), 40);
        const auto recorded = run(values, true, false, trace);
        EXPECT_EQ(figures(fast), figures(recorded));
        EXPECT_FALSE(fast.coverage.has_value());
        preemptions += fast.preemptions;
        returned += fast.evicted_blocks;
      }
  EXPECT_GT(preemptions, 50);
  EXPECT_GT(returned, 500);
}

/// Layers with windows keep what the windows show, and the policy decides about the others.
TEST(UnrecordedRuns, DecideBesideWindows) {
  const auto trace = trace_of(40, 150);
  const auto how = options({0, 20, 0, 20});
  for (const char* policy : {"random:budget=40", "seed-ring:window=40,chunk=8"})
    for (const char* table : {"layer", "head"}) {
      SCOPED_TRACE(std::string(policy) + table);
      const Values values = scenario_with(policy, table, "400");
      const auto fast = run(values, false, false, trace, how);
      expect_twins(fast, run(values, false, true, trace, how), 40);
      EXPECT_EQ(figures(fast), figures(run(values, true, false, trace, how)));
    }
}

/// If all ranks keep the same tokens, each has its share of every token.
TEST(UnrecordedRuns, AreOfAnyRankWhereAllKeepAlike) {
  const auto trace = trace_of(40, 150);
  const auto run_on = [&](const std::string& policy, const std::string& path, const std::string& ranks) {
    return run({{"model", "llama-3-8b"},
                {"eviction", policy},
                {"memory.allocator", "paged:block_tokens=8"},
                {"memory.pool_tokens", "400"},
                {"latency", "affine:base_ns=1000,token_ns=10,context_ns=0"},
                {path, ranks}},
               false, false, trace);
  };
  for (const std::string policy :
       {"seed-ring:window=25,chunk=8", "seed-ring:window=25,chunk=8,placement=reuse",
        "expr:score=\"position<4?1000:position\",budget=30"})
    for (const char* path : {"deployment.tp", "deployment.pp"}) {
      SCOPED_TRACE(policy + path);
      const auto whole = run_on(policy, path, "1");
      const auto half = run_on(policy, path, "2");
      ASSERT_EQ(half.records.size(), whole.records.size());
      for (std::size_t i = 0; i < whole.records.size(); ++i) {
        EXPECT_EQ(half.records[i].first_token, whole.records[i].first_token) << i;
        EXPECT_EQ(half.records[i].finish, whole.records[i].finish) << i;
      }
      EXPECT_EQ(half.evicted_blocks, whole.evicted_blocks);
      EXPECT_GT(half.evicted_blocks, 10);
      EXPECT_EQ(2 * half.details[0].layout.token_bytes, whole.details[0].layout.token_bytes);
    }
}

/// Other policies need ranks that share tables.
TEST(UnrecordedRuns, RanksThatKeepOtherTokensNeedTablesOfAll) {
  const auto trace = trace_of(4, 50);
  const auto error_with = [&](const std::string& table, const std::string& path) {
    const auto scenario = resolved({{"model", "llama-3-8b"},
                                    {"eviction", "random:budget=20"},
                                    {"memory.allocator", "paged:table=" + table},
                                    {path, "2"}});
    const auto result = runs::run_scenario(scenario.value(), trace, options());
    return result.ok() ? "" : result.error().to_string();
  };
  const std::string why =
      "deployment: a deployment with ranks that share no block tables does not work with eviction=random: "
      "the "
      "policy "
      "keeps different tokens in each layer or head, and a run simulates one rank. Use "
      "memory.allocator=paged:table=all, or one rank";
  EXPECT_EQ(error_with("all", "deployment.tp"), "");
  EXPECT_EQ(error_with("all", "deployment.pp"), "");
  EXPECT_EQ(error_with("layer", "deployment.tp"), "");
  EXPECT_EQ(error_with("layer", "deployment.pp"), why);
  for (const char* path : {"deployment.tp", "deployment.pp"}) EXPECT_EQ(error_with("head", path), why);
}

/// An expression of positions equals the window, on a model without a recording.
TEST(UnrecordedRuns, AnExpressionOfPositionsIsTheWindow) {
  const auto trace = trace_of(40, 150);
  const auto with = [&](const std::string& policy) {
    return run({{"model", "llama-3-8b"},
                {"eviction", policy},
                {"memory.allocator", "paged:block_tokens=8"},
                {"memory.pool_tokens", "400"},
                {"latency", "affine:base_ns=1000,token_ns=10,context_ns=10"}},
               false, false, trace);
  };
  EXPECT_EQ(figures(with("expr:score=position,budget=30")), figures(with("window:window=30")));
}

}  // namespace
}  // namespace kvplan::small_model
