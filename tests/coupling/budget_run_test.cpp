// Runs with budgets by layer or head (`budget` of a scenario): replayed, counted, and by position.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "simulator/io/head_scores.h"
#include "tests/coupling/budget_cases.h"
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
    // Random choice and positions, on the model's shape.
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

/// Short prompts get equal budgets in every layer, long ones do not; and blocks with ids treat all of them alike.
TEST(BudgetRuns, GrantsThatFollowThePromptAreSteppedToo) {
  const auto trace = trace_of(40, 150);
  for (const char* policy : {"window:window=9", "streaming-llm:sink=2,recent=9"}) {
    const Values values = budgeted(policy, "pyramidkv:capacity=40,window=8", "all", "400");
    expect_twins(run(values, false, false, trace), run(values, false, true, trace), 40);
  }
}

/// A recording says which tokens are dropped, lengths say how many: both runs are equal, block by block.
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

/// The same for a policy that reads queries and keys, with a number of tokens that rises and falls.
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

/// The policy pyramidkv equals SnapKV with the budget of that name, for any placement.
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

/// A budget that is equal in all layers gives the same run as the policy with that number.
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

/// The live tokens after every token are those of policies that have each layer's number as their own.
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
  // Ada-KV divides a layer's tokens among its heads by their attention.
  const std::string counted =
      error_of(budgeted("ada-kv:window=4,capacity=9,placement=compact", kPyramid, "layer", "500"));
  EXPECT_NE(counted.find("which needs a recording (workload.attention)"), std::string::npos) << counted;
  const std::string stages =
      error_of(budgeted("window:window=9", "pyramidkv-paper:total=100,beta=4", "all", "500"), false);
  EXPECT_EQ(stages, "");
}

/// If a budget replaces the policy's number, the traits of the policy with its own number do not matter.
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
  // If the budget leaves no room for newest tokens, the newest one stays all the same.
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
  // Three tokens are dropped one by one, half of twenty at once.
  same("scissorhands:budget=3,placement=compact", "scissorhands:budget=9,placement=compact");
}

/// Short prompts get a smaller budget than the tokens that the policy protects; it keeps those.
TEST(BudgetRuns, ShortPromptsKeepWhatThePolicyProtects) {
  traces::Trace one = trace_of(1, 60);
  one.input_tokens = {10};
  one.output_tokens = {40};
  const auto r = run(budgeted("h2o:hh=9,recent=8,placement=compact",
                              "squeeze:scores=[[0.1],[0.5],[0.6],[0.9]],"
                              "share=0.3,low=0.1",
                              "layer", "500"),
                     false, false, one, with_scores());
  EXPECT_EQ(r.evicted_tokens, 48 - 8);  // 49 are written, and nothing is dropped with the last one
  EXPECT_TRUE(std::any_of(r.assumptions.begin(), r.assumptions.end(), [](const std::string& s) {
    return s.find("and at least 8 tokens") != std::string::npos;
  }));
}

}  // namespace
}  // namespace kvplan::small_model
