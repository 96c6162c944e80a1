// Runs with budgets by layer or head (`budget` of a scenario): replayed, counted, and by position.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "simulator/io/head_scores.h"
#include "tests/coupling/settled.h"
#include "tests/coupling/small_model.h"

namespace kvplan::small_model {
namespace {

using Numbers = std::vector<std::int64_t>;

struct Case {
  const char* policy;
  const char* budget;
  bool recorded;
};

constexpr const char* kPyramid = "pyramidkv:window=4,capacity=30,beta=5";
constexpr const char* kHeads12 =
    "headkv:capacity=24,window=4,beta=1.1,scores=[[4,1,1],[1,2,0],[3,1,1],[2,2,6]]";

constexpr Case kCases[]{
    // Counted.
    {"h2o:hh=10,recent=6,placement=compact", kPyramid, false},
    {"tova:budget=20,placement=compact", "seed-pyramid-linear:max_len=40,ratio=0.3,min_size=4", false},
    {"snapkv:window=4,capacity=30,placement=compact", "pyramidkv-kvpress:ratio=0.5,window=4,beta=3", false},
    {"snapkv:window=4,capacity=30,placement=compact", kHeads12, false},
    {"h2o:hh=10,recent=6,placement=compact", kHeads12, false},
    {"window:window=25,placement=compact", "seed-pyramid-power:max_len=50", false},
    {"streaming-llm:sink=4,recent=9,placement=compact", kHeads12, false},
    {"scissorhands:budget=15,recent=3,drop=1,placement=compact",
     "warm-up:ratio=0.3,budget=\"uniform:capacity=20\"", false},
    {"scissorhands:budget=15,recent=18,drop=1,placement=compact", kPyramid, false},  // protects more
    {"random:budget=9,recent=12,sink=6,placement=compact", kPyramid, false},
    {"seed-lfu:budget=9,placement=compact", kPyramid, false},
    {"seed-lru:budget=9,placement=compact", kHeads12, false},
    {"expr:score=last,budget=9,recent=18,placement=compact", kHeads12, false},
    // Counted by steps: the number goes up and down.
    {"seed-ring:window=25,chunk=8,placement=compact", kPyramid, false},
    {"seed-ring:window=25,chunk=5,placement=compact", kHeads12, false},
    {"scissorhands:budget=24,placement=compact", "seed-pyramid-linear:max_len=40,ratio=0.6,min_size=4",
     false},
    {"scissorhands:budget=20,drop=3,recent=9,placement=compact", kHeads12, false},
    {"seed-proportional:budget=24,fraction=0.3,recent=5,placement=compact", kHeads12, false},
    // Lots and positions, on the model's shape.
    {"random:budget=9,placement=holes", kPyramid, false},
    {"random:budget=9,recent=2,placement=reuse", kHeads12, false},
    {"seed-ring:window=25,chunk=8,placement=holes", kHeads12, false},
    {"expr:score=\"age*position\",budget=9,placement=reuse", kPyramid, false},
    {"expr:score=position,budget=9,scope=layer,placement=holes", kPyramid, false},
    {"expr:score=position,budget=9,scope=layer,placement=reuse", kPyramid, true},
    // By position.
    {"window:window=25,placement=holes", "pyramidkv-paper:total=100,beta=4", false},
    {"window:window=25,placement=reuse", kHeads12, false},
    {"streaming-llm:sink=4,recent=9,placement=holes", kPyramid, false},
    {"streaming-llm:sink=4,recent=9,placement=reuse",
     "squeeze:scores=[[0.1],[0.5],[0.6],[0.9]],share=0.3,low=0.1", false},
    // Replayed.
    {"h2o:hh=10,recent=6,placement=holes", kPyramid, true},
    {"h2o:hh=10,recent=6,placement=reuse", kHeads12, true},
    {"h2o:hh=10,recent=6,placement=compact", kHeads12, true},
    {"tova:budget=20,placement=reuse", "seed-pyramid-table:max_len=30", true},
    {"snapkv:window=4,capacity=30,placement=holes", kHeads12, true},
    {"seed-lfu:budget=9,theta=0.05,placement=holes", kHeads12, true},
    {"ada-kv:window=4,capacity=30,placement=holes", "ada-kv-pyramid:capacity=30,window=4,beta=5", true},
    // Measured.
    {"h2o:hh=10,recent=6,placement=holes", "d2o", true},
    {"h2o:hh=10,recent=6,placement=compact", "d2o:hh_ratio=0.2", true},
    {"window:window=25,placement=holes", "d2o", true},
    {"streaming-llm:sink=4,recent=9,placement=compact", "d2o", true},
};

Values budgeted(const std::string& policy, const std::string& budget, const std::string& table,
                const std::string& pool) {
  Values values = scenario_with(policy, table, pool);
  values.emplace_back("budget", budget);
  return values;
}

runs::RunOptions with_scores(runs::RunOptions how = options()) {
  how.open_scores = io::read_head_scores;
  return how;
}

TEST(BudgetRuns, FastEqualsNaive) {
  const auto trace = trace_of(40, 150);
  std::int64_t preemptions = 0;
  std::int64_t returned = 0;
  for (const Case& c : kCases)
    for (const char* table : {"all", "layer", "head"}) {
      SCOPED_TRACE(std::string(c.policy) + " " + c.budget + " " + table + (c.recorded ? " recorded" : ""));
      const Values values = budgeted(c.policy, c.budget, table, "400");
      const auto fast = run(values, c.recorded, false, trace, with_scores());
      const auto naive = run(values, c.recorded, true, trace, with_scores());
      expect_twins(fast, naive, 40);
      preemptions += fast.preemptions;
      returned += fast.evicted_blocks;
    }
  EXPECT_GT(preemptions, 200);
  EXPECT_GT(returned, 2000);
}

/// Short prompts are granted the same in every layer, long ones are not, and blocks with ids count all of them alike.
TEST(BudgetRuns, GrantsThatFollowThePromptAreSteppedToo) {
  const auto trace = trace_of(40, 150);
  for (const char* policy : {"window:window=9", "streaming-llm:sink=2,recent=9"}) {
    const Values values = budgeted(policy, "pyramidkv:capacity=40,window=8", "all", "400");
    expect_twins(run(values, false, false, trace), run(values, false, true, trace), 40);
  }
}

/// A recording says which tokens go, lengths how many: the runs are one, block by block.
TEST(BudgetRuns, CountedIsReplayed) {
  const auto trace = trace_of(40, 150);
  int compared = 0;
  for (const Case& c : kCases) {
    if (c.recorded || std::string(c.policy).find("compact") == std::string::npos) continue;
    for (const char* table : {"all", "layer", "head"}) {
      const Values values = budgeted(c.policy, c.budget, table, "500");
      const auto counted = run(values, false, false, trace, with_scores());
      const auto replayed = run(values, true, false, trace, with_scores());
      EXPECT_EQ(figures(counted), figures(replayed)) << c.policy << " " << c.budget << " " << table;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 54);
}

/// The same for a policy that reads queries and keys, with a number that goes up and down.
TEST(BudgetRuns, CountedIsReplayedOnTensors) {
  const auto trace = trace_of(40, 150);
  const auto how = with_scores(options(std::vector<std::int64_t>(kLayers, 0), recorded_tensors()));
  for (const char* table : {"all", "layer", "head"}) {
    const Values values =
        budgeted("r-kv:window=4,budget=20,every=7,placement=compact", kPyramid, table, "500");
    const auto counted = run(values, false, false, trace, how);
    expect_twins(counted, run(values, false, true, trace, how), 40);
    EXPECT_EQ(figures(counted), figures(run(values, true, false, trace, how))) << table;
    EXPECT_GT(counted.compactions, 0) << table;
  }
}

/// The policy pyramidkv is SnapKV with that budget, for any placement.
TEST(BudgetRuns, PyramidKvIsSnapKvWithItsBudget) {
  const auto trace = trace_of(40, 150);
  for (const char* placement : {"compact", "holes", "reuse"})
    for (const char* table : {"all", "layer", "head"})
      for (const bool recorded : {false, true}) {
        if (!recorded && std::string(placement) != "compact") continue;
        SCOPED_TRACE(std::string(placement) + " " + table);
        const std::string end = std::string(",placement=") + placement;
        const auto named = run(scenario_with("pyramidkv:window=4,capacity=40,beta=5" + end, table, "500"),
                               recorded, false, trace);
        const auto composed = run(budgeted("snapkv:window=4,capacity=9" + end,
                                           "pyramidkv:window=4,capacity=40,beta=5", table, "500"),
                                  recorded, false, trace);
        EXPECT_EQ(figures(named), figures(composed));
      }
}

/// A budget that is the same everywhere is the policy with that number.
TEST(BudgetRuns, UniformIsThePolicysOwnNumber) {
  const auto trace = trace_of(40, 150);
  for (const auto& [with, own, recorded] : std::vector<std::tuple<std::string, std::string, bool>>{
           {"h2o:hh=3,recent=6,placement=compact", "h2o:hh=16,recent=6,placement=compact", false},
           {"h2o:hh=3,recent=6,placement=holes", "h2o:hh=16,recent=6,placement=holes", true},
           {"window:window=3,placement=reuse", "window:window=22,placement=reuse", false},
           {"snapkv:window=4,capacity=9,placement=compact", "snapkv:window=4,capacity=22,placement=compact",
            false}})
    for (const char* table : {"layer", "head"}) {
      const auto one = run(scenario_with(own, table, "500"), recorded, false, trace);
      const auto same = run(budgeted(with, "uniform:capacity=22", table, "500"), recorded, false, trace);
      EXPECT_EQ(figures(one), figures(same)) << own << " " << table;
    }
}

/// One request, walked cell by cell: each table has cells; a cell is true if any of its units keeps one there; each
/// unit keeps as many tokens as its budget says.
struct Told {
  std::int64_t blocks_freed{0}, compaction_cells{0}, dropped{0};
};

Told told(const std::vector<Numbers>& tables, std::int64_t prompt, std::int64_t final_tokens,
          std::int64_t block) {
  Told out;
  for (const Numbers& units : tables) {
    const std::int64_t most = *std::max_element(units.begin(), units.end());
    std::int64_t cells = prompt - 1;
    std::int64_t held = ceil_div(prompt, block);
    Numbers kept(units.size(), prompt - 1);
    for (std::int64_t n = prompt; n < final_tokens; ++n) {
      held = std::max(held, ceil_div(++cells, block));
      for (std::size_t u = 0; u < units.size(); ++u) {
        const std::int64_t now = std::min(kept[u] + 1, units[u]);
        out.dropped += kept[u] + 1 - now;
        kept[u] = now;
      }
      if (cells - std::min(n, most) < block) continue;
      cells = std::min(n, most);
      for (const std::int64_t each : kept) out.compaction_cells += each;
      out.blocks_freed += held - ceil_div(cells, block);
      held = ceil_div(cells, block);
    }
  }
  return out;
}

TEST(BudgetRuns, OneRequestToldCellByCell) {
  traces::Trace one = trace_of(1, 60);
  one.input_tokens = {90};
  one.output_tokens = {55};
  // 100 tokens in all: the last of four layers has 100 / (2.5 x 4), the first exceeds 25 by as much as the last falls
  // below it. So 40, 30, 20 and 10; the policy raises 10 to the 12 that it protects.
  const Numbers layers{40, 30, 20, 12};
  for (const auto& [table, tables] :
       {std::pair{std::string("all"), std::vector<Numbers>{layers}},
        std::pair{std::string("layer"), std::vector<Numbers>{{40}, {30}, {20}, {12}}}}) {
    const auto r = run(
        budgeted("h2o:hh=5,recent=12,placement=compact", "pyramidkv-paper:total=100,beta=2.5", table, "4000"),
        false, false, one, with_scores());
    const Told by_hand = told(tables, 90, 90 + 55 - 1, 8);
    EXPECT_EQ(r.evicted_blocks, by_hand.blocks_freed) << table;
    EXPECT_EQ(r.compaction_bytes, by_hand.compaction_cells * r.details[0].layout.cell_bytes()) << table;
    EXPECT_EQ(r.evicted_tokens, by_hand.dropped / kLayers) << table;
  }
}

/// What is live after every token is what policies keep that have each layer's number as their own.
TEST(BudgetRuns, LedgerIsTheTokenLevelsOwnCount) {
  constexpr std::int64_t kPrompt = 40, kTokens = 100;
  traces::Trace one = trace_of(1, 60);
  one.input_tokens = {kPrompt};
  one.output_tokens = {kTokens + 1 - kPrompt};
  for (const char* budget : {"pyramidkv-paper:total=80,beta=2.5", "d2o:hh_ratio=0.3,recent_ratio=0.2"}) {
    SCOPED_TRACE(budget);
    std::optional<Settled> settled;
    auto how = with_scores();
    how.step_by_step = true;
    std::shared_ptr<const attention::Recording> recording = how.open_recording("").value();
    how.extra_observers.push_back([&](const runs::Watched& watched) -> Result<core::Observer*> {
      return static_cast<core::Observer*>(&settled.emplace(watched.ledger, kPrompt));
    });
    const auto r =
        run(budgeted("h2o:hh=1,recent=6,placement=holes", budget, "all", "400"), true, true, one, how);
    Numbers layers{32, 24, 16, 8};
    if (std::string(budget).starts_with("d2o")) {
      // Layers 0, 1 and 3 keep everything; the third has its share of what four layers have on average.
      std::vector<double> figure;
      for (int layer = 0; layer < kLayers; ++layer) {
        std::vector<double> variances;
        const auto rows = recording->open(0, layer);
        std::vector<std::vector<double>> sums(kHeads, std::vector<double>(kPrompt));
        for (std::int64_t t = 0; t < kPrompt; ++t) {
          ASSERT_TRUE(rows.value()->seek(t).ok());
          for (int head = 0; head < kHeads; ++head)
            for (std::size_t i = 0; i <= static_cast<std::size_t>(t); ++i)
              sums[static_cast<std::size_t>(head)][i] += rows.value()->row(head).f64[i];
        }
        for (const auto& columns : sums) {
          double sum = 0, squares = 0;
          for (const double each : columns) sum += each, squares += each * each;
          variances.push_back((squares - sum * sum / kPrompt) / (kPrompt - 1));
        }
        const auto [low, high] = std::minmax_element(variances.begin(), variances.end());
        double all = 0;
        for (const double each : variances) all += (each - *low) / (*high - *low + 1e-6);
        figure.push_back(std::exp(-all / kHeads));
      }
      const double share = figure[2] / (figure[0] + figure[1] + figure[2] + figure[3]) * kLayers;
      const auto part = [&](double ratio) {
        return static_cast<std::int64_t>(std::floor((kPrompt + 1) * share * ratio));
      };
      layers = {1000, 1000, part(0.3) + part(0.2), 1000};
      EXPECT_GT(layers[2], 10);
      EXPECT_LT(layers[2], 30);
    }
    std::map<std::int64_t, std::int64_t> kept;
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::int64_t heavy = layers[static_cast<std::size_t>(layer)] - 6;
      const auto outcome =
          attention::run_policy(*recording, "h2o:recent=6,hh=" + std::to_string(heavy), kPrompt, layer);
      for (std::int64_t n = kPrompt; n < kTokens; ++n)
        for (const auto& set : n == kPrompt ? outcome.after_prefill
                                            : outcome.retained[static_cast<std::size_t>(n - 1 - kPrompt)])
          kept[n] += static_cast<std::int64_t>(set.size());
    }
    const core::MemoryLayout& layout = r.details[0].layout;
    for (std::int64_t n = kPrompt; n < kTokens; ++n)
      EXPECT_EQ(at(settled->bytes.at(n), observe::State::kLive),
                kept[n] * (layout.cell_bytes() - layout.metadata_bytes))
          << n;
  }
}

std::string error_of(Values values, bool recorded = false, const traces::Trace& trace = trace_of(3, 60)) {
  if (recorded) values.emplace_back("workload.attention", "r.kva");
  const auto scenario = resolved(values);
  if (!scenario.ok()) return scenario.error().to_string();
  const auto result = runs::run_scenario(scenario.value(), trace, with_scores());
  return result.ok() ? "" : result.error().to_string();
}

TEST(BudgetRuns, SayWhatTheyNeed) {
  const auto refused = [](const std::string& policy, const std::string& budget, const std::string& what,
                          const Values& more = {}, bool recorded = false) {
    Values values = budgeted(policy, budget, "layer", "500");
    values.insert(values.end(), more.begin(), more.end());
    const std::string error = error_of(values, recorded);
    EXPECT_NE(error.find(what), std::string::npos) << error;
    EXPECT_EQ(error.find("budget"), 0U) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  };
  refused("full", kPyramid, "Use a policy with a number of tokens");
  refused("keyformer", kPyramid, "Use a policy with a number of tokens", {}, true);
  refused("h2o:hh=4,recent=4,placement=compact", "d2o", "give recordings as workload.attention");
  refused("window:window=8", "d2o", "give recordings as workload.attention");
  refused("h2o:hh=4,recent=4,placement=compact", "headkv:capacity=24,window=4,scores=[[1,1,1]]",
          "a list for each of 4 layers");
  refused("h2o:hh=4,recent=4,placement=compact", "headkv:capacity=40,window=4,scores=[[1],[1],[1],[1]]",
          "each of 3 KV heads");
  refused("tova:budget=9,placement=compact", kHeads12, "selects tokens per layer");
  refused("h2o:hh=4,recent=4,placement=compact", "pyramidkv:capacity=3,window=4", "at least the window");
  refused("h2o:hh=4,recent=4,placement=compact", "headkv:capacity=40,scores=no such file", "headkv:scores");
  // Ada-KV shares a layer's tokens among its heads by their attention.
  const std::string counted =
      error_of(budgeted("ada-kv:window=4,capacity=9,placement=compact", kPyramid, "layer", "500"));
  EXPECT_NE(counted.find("which needs a recording (workload.attention)"), std::string::npos) << counted;
  const std::string stages =
      error_of(budgeted("window:window=9", "pyramidkv-paper:total=100,beta=4", "all", "500"), false);
  EXPECT_EQ(stages, "");
}

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
  // The policy of that name differs as the budget does, and not where all prompts are shorter than what it keeps.
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

/// All ranks have one block table, that of the whole model on one rank: the rank that keeps most decides.
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
                      // Numbers that take turns in being the largest.
                      {heads.c_str(), "scissorhands:budget=9,drop=5,placement=compact", "deployment.tp"},
                      {falling.c_str(), "seed-ring:window=9,chunk=6,placement=compact", "deployment.pp"}};
  const auto trace = trace_of(40, 150);
  for (const Ranks& c : cases) {
    // As many blocks, and times that follow from tokens alone.
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
    // All but what the report says of the ranks.
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

/// The policy's own traits do not matter if a budget replaces its number.
TEST(BudgetRuns, APolicyIsJudgedWithItsBudget) {
  const auto trace = trace_of(20, 150);
  const auto same = [&](const std::string& policy, const std::string& own) {
    const auto with = run(budgeted(policy, "uniform:capacity=9", "layer", "500"), false, false, trace);
    const auto alone = run(scenario_with(own, "layer", "500"), false, false, trace);
    EXPECT_EQ(figures(with), figures(alone)) << policy;
  };
  same("streaming-llm:sink=4,recent=0,placement=reuse", "streaming-llm:sink=4,recent=5,placement=reuse");
  same("streaming-llm:sink=0,recent=0,placement=compact", "streaming-llm:sink=4,recent=5,placement=compact");
  same("h2o:hh=0,recent=0,placement=compact", "h2o:hh=9,recent=0,placement=compact");
  same("random:budget=1,recent=4,sink=2,placement=compact", "tova:budget=9,placement=compact");
  // Where the budget leaves nothing of the newest tokens, the newest one stays.
  for (const char* placement : {"holes", "reuse"}) {
    const auto r = run(budgeted(std::string("streaming-llm:sink=4,recent=0,placement=") + placement,
                                "uniform:capacity=4", "all", "500"),
                       false, false, trace);
    EXPECT_EQ(figures(r),
              figures(run(budgeted(std::string("streaming-llm:sink=4,recent=1,placement=") + placement,
                                   "uniform:capacity=5", "all", "500"),
                          false, false, trace)));
    EXPECT_TRUE(std::any_of(r.assumptions.begin(), r.assumptions.end(), [](const std::string& s) {
      return s.find("and at least 5 tokens") != std::string::npos;
    }));
  }
  EXPECT_EQ(error_of({{"eviction", "streaming-llm:sink=4,recent=0"}}),
            "eviction: expected a policy that keeps at least the newest token");
  // Three tokens go one by one, half of twenty at once.
  same("scissorhands:budget=3,placement=compact", "scissorhands:budget=9,placement=compact");
}

/// Short prompts are granted less than the policy protects; it keeps that.
TEST(BudgetRuns, ShortPromptsKeepWhatThePolicyProtects) {
  traces::Trace one = trace_of(1, 60);
  one.input_tokens = {10};
  one.output_tokens = {40};
  const auto r = run(budgeted("h2o:hh=9,recent=8,placement=compact",
                              "squeeze:scores=[[0.1],[0.5],[0.6],[0.9]],"
                              "share=0.3,low=0.1",
                              "layer", "500"),
                     false, false, one, with_scores());
  EXPECT_EQ(r.evicted_tokens, 48 - 8);  // 49 are written, and nothing goes with the last
  EXPECT_TRUE(std::any_of(r.assumptions.begin(), r.assumptions.end(), [](const std::string& s) {
    return s.find("and at least 8 tokens") != std::string::npos;
  }));
}

}  // namespace
}  // namespace kvplan::small_model
