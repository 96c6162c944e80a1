// Budgets by layer or head on several ranks.
#include <gtest/gtest.h>
#include <algorithm>

#include "simulator/io/head_scores.h"
#include "tests/coupling/budget_cases.h"
#include "tests/coupling/settled.h"
#include "tests/coupling/small_model.h"

namespace kvplan::small_model {
namespace {

using Numbers = std::vector<std::int64_t>;

std::string head_scores(const std::string& layer) {
  std::string scores;
  for (int i = 0; i < 32; ++i) scores += (i == 0 ? "[" : ",") + layer;
  return "headkv:capacity=40,scores=" + scores + "]";
}

TEST(BudgetRuns, RanksMustBeAlikeWhereTheyHaveNoCommonTable) {
  const auto with = [](const std::string& policy, const std::string& budget, const std::string& ranks) {
    const std::string table = ranks == "deployment.pp" ? "layer" : "head";
    Values values{{"model", "llama-3-8b"},
                  {"eviction", policy},
                  {"budget", budget},
                  {"memory.allocator", "paged:table=" + table},
                  {ranks, "2"}};
    return error_of(values, false, trace_of(10, 150));
  };
  const std::string paper = "pyramidkv-paper:total=4000,beta=4";
  EXPECT_EQ(with("window:window=9", paper, "deployment.tp"), "");
  EXPECT_EQ(with("h2o:hh=9,recent=9,placement=compact", paper, "deployment.tp"), "");
  for (const char* policy : {"window:window=9", "window:window=9,placement=reuse"}) {
    const std::string stages = with(policy, paper, "deployment.pp");
    EXPECT_EQ(
        stages.rfind("deployment: a deployment of several ranks does not work with budget=pyramidkv-paper: a "
                     "run simulates one rank, ",
                     0),
        0U)
        << stages;
    EXPECT_NE(stages.find(
                  "tokens it keeps different numbers in the layers of stage 1 than in the layers of stage 0"),
              std::string::npos)
        << stages;
    const std::string heads = head_scores("[1,1,1,1,2,2,3,4]");
    EXPECT_EQ(with(policy, heads, "fleet.replicas"), "");
    const std::string ranks = with(policy, heads, "deployment.tp");
    EXPECT_EQ(ranks.rfind("deployment: a deployment of several ranks does not work with budget=headkv: ", 0),
              0U)
        << ranks;
    EXPECT_NE(ranks.find("in the heads of rank 1 than in the heads of rank 0, in layer 0"), std::string::npos)
        << ranks;
  }
  // The policy of that name differs where the budget does, but not if all prompts are shorter than what it keeps.
  const auto named = [](const std::string& policy) {
    return error_of({{"model", "llama-3-8b"},
                     {"eviction", policy},
                     {"memory.allocator", "paged:table=layer"},
                     {"deployment.pp", "2"}},
                    false, trace_of(10, 150));
  };
  EXPECT_NE(
      named("pyramidkv:window=4,capacity=30,beta=5,placement=compact").find("it keeps different numbers in"),
      std::string::npos);
  EXPECT_EQ(named("pyramidkv:window=4,capacity=3000,beta=5,placement=compact"), "");
}

/// All ranks have one block table, that of the whole model on one rank: the rank that keeps most decides its length.
TEST(BudgetRuns, SeveralRanksHaveTheTableOfOne) {
  struct Ranks {
    const char *budget, *policy, *ranks;
  };
  const std::string heads = head_scores("[1,1,1,1,2,2,3,9]");
  const std::string falling = "pyramidkv-paper:total=2000,beta=4";
  const Ranks cases[]{{falling.c_str(), "h2o:hh=9,recent=9,placement=compact", "deployment.pp"},
                      {falling.c_str(), "snapkv:window=4,capacity=40,placement=compact", "deployment.pp"},
                      {heads.c_str(), "h2o:hh=9,recent=9,placement=compact", "deployment.tp"},
                      {heads.c_str(), "streaming-llm:sink=4,recent=9,placement=compact", "deployment.tp"},
                      // Numbers of which each is the largest at some time.
                      {heads.c_str(), "scissorhands:budget=9,drop=5,placement=compact", "deployment.tp"},
                      {falling.c_str(), "seed-ring:window=9,chunk=6,placement=compact", "deployment.pp"}};
  const auto trace = trace_of(40, 150);
  for (const Ranks& c : cases) {
    // Equal numbers of blocks, and times that follow from tokens alone.
    const auto run_on = [&](const std::string& ranks, bool step_by_step) {
      return run({{"model", "llama-3-8b"},
                  {"eviction", c.policy},
                  {"budget", c.budget},
                  {"memory.allocator", "paged:block_tokens=8"},
                  {"memory.pool_tokens", "400"},
                  {"latency", "affine:base_ns=1000,token_ns=10,context_ns=0"},
                  {c.ranks, ranks}},
                 false, step_by_step, trace, with_scores());
    };
    SCOPED_TRACE(std::string(c.policy) + " " + c.ranks);
    const auto whole = run_on("1", false);
    const auto shared = run_on("2", false);
    expect_twins(shared, run_on("2", true), 40);
    ASSERT_EQ(shared.records.size(), whole.records.size());
    for (std::size_t i = 0; i < whole.records.size(); ++i) {
      EXPECT_EQ(shared.records[i].first_token, whole.records[i].first_token) << i;
      EXPECT_EQ(shared.records[i].finish, whole.records[i].finish) << i;
      EXPECT_EQ(shared.records[i].preemptions, whole.records[i].preemptions) << i;
    }
    EXPECT_EQ(shared.evicted_blocks, whole.evicted_blocks);
    EXPECT_GT(shared.evicted_blocks, 10);
    const auto told = [](const auto& result) {
      return std::any_of(result.assumptions.begin(), result.assumptions.end(),
                         [](const std::string& s) { return s.rfind("Ranks keep different", 0) == 0; });
    };
    EXPECT_TRUE(told(shared));
    EXPECT_FALSE(told(whole));
  }
}

/// A table of layers with equal counts has no holes that tables by layer would avoid, so the report does not mention
/// them.
TEST(BudgetRuns, HolesOfOtherLayersAreSaidWhereTheyAre) {
  const auto says = [](const std::string& budget, bool recorded) {
    const auto r = run(budgeted("h2o:hh=10,recent=6,placement=compact", budget, "all", "500"), recorded,
                       false, trace_of(3, 100), with_scores());
    return std::any_of(r.assumptions.begin(), r.assumptions.end(), [](const std::string& s) {
      return s.find("other layers evicted are holes") != std::string::npos;
    });
  };
  EXPECT_FALSE(says("uniform:capacity=20", false));
  EXPECT_FALSE(says("headkv:capacity=24,window=4,scores=[[1,1,1],[1,1,1],[1,1,1],[1,1,1]]", false));
  EXPECT_TRUE(says(kHeads12, false));
  EXPECT_TRUE(says(kPyramid, false));
  EXPECT_TRUE(says("warm-up:ratio=0.3,budget=\"uniform:capacity=20\"", false));
  EXPECT_TRUE(says("d2o", true));
}

TEST(BudgetRuns, HolesOfOtherLayersHaveTheirFigure) {
  const auto r = run(budgeted("h2o:hh=10,recent=6,placement=compact", kPyramid, "all", "500"), false, false,
                     trace_of(3, 100), with_scores());
  const double percent = 100 * r.memory->mean_fraction[observe::index(observe::State::kHole)];
  EXPECT_GT(percent, 1);
  bool said = false;
  for (const std::string& s : r.assumptions) {
    const std::string before = "evicted are holes: ";
    const auto at = s.find(before);
    if (at == std::string::npos) continue;
    said = true;
    EXPECT_NEAR(std::stod(s.substr(at + before.size())), percent, 0.05);
  }
  EXPECT_TRUE(said);
}

/// If all ranks keep the same numbers, the run equals one with the policy's own number. If stages, or the heads of
/// ranks, have the same numbers in another order, it equals a run of one rank with half of the layers, or heads, and
/// half of the memory.
TEST(BudgetRuns, AlikeRanksAreFollowed) {
  const auto trace = trace_of(40, 150);
  std::int64_t preemptions = 0;
  const auto one_of = [&](const Values& more, const runs::RunOptions& how) {
    Values values{{"memory.pool_tokens", "500"}, {"latency", "affine"}};
    values.insert(values.end(), more.begin(), more.end());
    const auto scenario = resolved(values);
    const auto r = runs::run_scenario(scenario.value(), trace, how);
    EXPECT_TRUE(r.ok()) << r.error().to_string();
    EXPECT_GT(r.value().evicted_tokens, 1000);
    preemptions += r.value().preemptions;
    // Everything except the report's statements about ranks.
    const runs::RunResult& all = r.value();
    std::string out = runs::requests_csv(all) + runs::timeline_csv(all);
    for (const std::int64_t figure :
         {all.evicted_tokens, all.evicted_blocks, all.compactions, all.compaction_bytes, all.makespan.count})
      out += std::to_string(figure) + " ";
    return out;
  };
  const auto llama = [&](Values more) {
    more.emplace_back("model", "llama-3-8b");
    return one_of(more, with_scores());
  };
  for (const char* table : {"layer", "head"})
    for (const auto& [with, own] : std::vector<std::pair<std::string, std::string>>{
             {"h2o:hh=3,recent=6,placement=compact", "h2o:hh=16,recent=6,placement=compact"},
             {"window:window=3,placement=reuse", "window:window=22,placement=reuse"},
             {"snapkv:window=4,capacity=9,placement=compact",
              "snapkv:window=4,capacity=22,placement=compact"}})
      for (const auto& [path, ranks] :
           std::vector<std::pair<std::string, std::string>>{{"deployment.pp", "2"}, {"deployment.tp", "4"}}) {
        SCOPED_TRACE(with + " " + table + " " + path);
        const Values deployed{{path, ranks},
                              {"memory.allocator", std::string("paged:block_tokens=8,table=") + table}};
        Values same = deployed;
        same.insert(same.end(), {{"eviction", with}, {"budget", "uniform:capacity=22"}});
        Values alone = deployed;
        alone.emplace_back("eviction", own);
        EXPECT_EQ(llama(same), llama(alone));
      }
  // Four layers, two and two with the same numbers, on two stages; and half of the model on one.
  const auto half = [](const runs::RunOptions& whole, bool layers) {
    auto how = whole;
    how.open_model = [open = whole.open_model, layers](const std::string& path) -> Result<model::ModelShape> {
      model::ModelShape shape = open(path).value();
      if (layers) {
        shape.layers = 2;
        shape.runs.resize(2);
      } else {
        shape.kv_heads = 2;
        shape.query_heads = 2;
        for (model::LayerRun& run : shape.runs) run.cache.heads = 2;
      }
      return shape;
    };
    return how;
  };
  auto four_heads = with_scores();
  four_heads.open_model = [open =
                               four_heads.open_model](const std::string& path) -> Result<model::ModelShape> {
    model::ModelShape shape = open(path).value();
    shape.kv_heads = 4;
    shape.query_heads = 4;
    for (model::LayerRun& run : shape.runs) run.cache.heads = 4;
    return shape;
  };
  for (const char* policy : {"h2o:hh=10,recent=6,placement=compact", "window:window=25,placement=reuse",
                             "streaming-llm:sink=4,recent=9,placement=compact", "window:window=25"})
    for (const char* table : {"all", "layer", "head"}) {
      SCOPED_TRACE(std::string(policy) + " " + table);
      const auto small = [&](const std::string& budget, const Values& more, const runs::RunOptions& how) {
        Values values{{"model", "small/config.json"},
                      {"eviction", policy},
                      {"budget", budget},
                      {"memory.allocator", std::string("paged:block_tokens=8,table=") + table}};
        values.insert(values.end(), more.begin(), more.end());
        return one_of(values, how);
      };
      const std::string heads = "headkv:capacity=24,window=4,beta=1.1,scores=";
      EXPECT_EQ(small(heads + "[[4,4,4],[1,1,1],[1,1,1],[4,4,4]]", {{"deployment.pp", "2"}}, with_scores()),
                small(heads + "[[4,4,4],[1,1,1]]", {}, half(with_scores(), true)));
      if (std::string(policy).find("compact") != std::string::npos) {
        const Values stages{{"deployment.pp", "2"}};
        const Values recorded{stages[0], {"workload.attention", "r.kva"}};
        const std::string crossed = heads + "[[4,1,4],[1,2,1],[1,1,2],[4,4,1]]";
        EXPECT_EQ(small(crossed, stages, with_scores()), small(crossed, recorded, with_scores()));
      }
      const auto layers = [](const std::string& layer) {
        return "[" + layer + "," + layer + "," + layer + "," + layer + "]";
      };
      EXPECT_EQ(small(heads + layers("[4,1,1,4]"), {{"deployment.tp", "2"}}, four_heads),
                small(heads + layers("[4,1]"), {}, half(with_scores(), false)));
    }
  EXPECT_GT(preemptions, 50);
}

}  // namespace
}  // namespace kvplan::small_model
