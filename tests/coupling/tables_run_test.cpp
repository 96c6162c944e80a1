// Runs with a table for each layer or KV head (memory.allocator paged:table=...).
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "simulator/attention/budget.h"
#include "tests/coupling/small_model.h"

namespace kvplan::small_model {
namespace {

struct Case {
  const char* policy;
  bool recorded;
};
constexpr Case kCases[]{
    {"pyramidkv:window=4,capacity=40,beta=5,placement=compact", false},
    {"pyramidkv:window=4,capacity=40,beta=5,placement=compact", true},
    {"pyramidinfer:ratio=0.5,placement=compact", false},
    {"pyramidinfer:ratio=0.5,placement=compact", true},
    {"h2o:hh=10,recent=12,placement=compact", false},
    {"snapkv:window=4,capacity=30,placement=compact", false},
    {"window:window=25,placement=reuse", false},
    {"window:window=25,placement=holes", false},
    {"streaming-llm:sink=4,recent=15,placement=holes", false},
    {"h2o:hh=10,recent=12,placement=holes", true},
    {"h2o:hh=10,recent=12,placement=reuse", true},
    {"tova:budget=20,placement=reuse", true},
    {"ada-kv:window=4,capacity=30,placement=holes", true},
    {"pyramidkv:window=4,capacity=40,beta=5,placement=holes", true},
};

TEST(TablesRuns, FastEqualsNaive) {
  const auto trace = trace_of(40, 150);
  std::int64_t preemptions = 0;
  std::int64_t returned = 0;
  for (const Case& c : kCases)
    for (const char* table : {"all", "layer", "head"}) {
      SCOPED_TRACE(std::string(c.policy) + " " + table + (c.recorded ? " recorded" : ""));
      const Values values = scenario_with(c.policy, table, "400");
      const auto fast = run(values, c.recorded, false, trace);
      const auto naive = run(values, c.recorded, true, trace);
      EXPECT_EQ(fast.completed, 40);
      EXPECT_EQ(runs::report_json(fast), runs::report_json(naive));
      EXPECT_EQ(figures(fast), figures(naive));
      preemptions += fast.preemptions;
      returned += fast.evicted_blocks;
    }
  EXPECT_GT(preemptions, 100);
  EXPECT_GT(returned, 1000);
}

/// Layers with windows keep what the windows show, the policy decides about the others; fast and step by step.
TEST(TablesRuns, WindowsBesideAPolicyFastEqualsNaive) {
  const auto trace = trace_of(40, 150);
  const auto hybrid = options({12, 40, 0, 12});
  std::int64_t returned = 0;
  for (const Case& c : kCases)
    for (const char* table : {"layer", "head"}) {
      SCOPED_TRACE(std::string(c.policy) + " " + table + (c.recorded ? " recorded" : ""));
      const Values values = scenario_with(c.policy, table, "400");
      const auto fast = run(values, c.recorded, false, trace, hybrid);
      const auto naive = run(values, c.recorded, true, trace, hybrid);
      EXPECT_EQ(fast.completed, 40);
      EXPECT_EQ(figures(fast), figures(naive));
      returned += fast.evicted_blocks;
    }
  EXPECT_GT(returned, 1000);
}

TEST(TablesRuns, WindowsThatShowEverythingChangeNothing) {
  const auto trace = trace_of(30, 150);
  const auto wide = options({400, 0, 300, 0});
  for (const Case& c : kCases) {
    if (std::string(c.policy).find("compact") == std::string::npos) continue;
    // The policy only decides about layers 1 and 3: with windows that wide, the other layers keep everything.
    const auto some = run(scenario_with(c.policy, "layer", "3000"), c.recorded, false, trace, wide);
    const auto all = run(scenario_with(c.policy, "layer", "3000"), c.recorded, false, trace);
    EXPECT_LT(some.evicted_tokens, all.evicted_tokens) << c.policy;
    EXPECT_GT(some.evicted_tokens, 0) << c.policy;
  }
}

/// One request, counted by hand: after n tokens, a layer with a window of W keeps the last W - 1, a layer without one
/// keeps what the policy keeps. The pool is as large as the memory held at the peak, in blocks of one layer.
TEST(TablesRuns, WindowsBesideAPolicyByHand) {
  traces::Trace one;
  one.arrival_ns = {0};
  one.input_tokens = {64};
  one.output_tokens = {80};
  one.digest = "test";
  const std::vector<std::int64_t> windows{12, 0, 0, 33};
  const auto with = [&](const char* policy, std::int64_t (*kept)(std::int64_t)) {
    const auto result = run(scenario_with(policy, "layer", "3000"), false, false, one, options(windows));
    // Live cells over time: the prompt in one step, then one step per token, with different durations; so the sums of
    // dropped tokens are compared, which do not depend on time.
    std::int64_t dropped = 0;
    std::int64_t before = 4 * 64;
    for (std::int64_t n = 64; n < 143; ++n) {  // tokens are dropped after each token except the last
      std::int64_t live = 0;
      for (const std::int64_t window : windows) live += window > 0 ? std::min(n, window - 1) : kept(n);
      dropped += before - live;
      before = live + 4;
    }
    EXPECT_EQ(result.evicted_tokens, dropped / 4) << policy;
    EXPECT_EQ(result.completed, 1);
  };
  with("h2o:hh=10,recent=12,placement=compact", [](std::int64_t n) { return std::min<std::int64_t>(n, 22); });
  with("snapkv:window=4,capacity=30,placement=compact", [](std::int64_t n) { return 30 + (n - 64); });
  for (const char* placement : {"holes", "reuse", "compact"})
    with((std::string("window:window=25,placement=") + placement).c_str(),
         [](std::int64_t n) { return std::min<std::int64_t>(n, 25); });
}

/// With one table for all layers, windows are not followed, for any placement, and the report says so.
TEST(TablesRuns, WindowsAreFollowedWithTablesAlone) {
  const auto trace = trace_of(20, 150);
  const auto hybrid = options({12, 40, 0, 12});
  for (const char* placement : {"holes", "reuse", "compact"})
    for (const char* table : {"all", "layer", "head"}) {
      const bool follows = std::string(table) != "all";
      SCOPED_TRACE(std::string(placement) + " " + table);
      const Values values =
          scenario_with(std::string("window:window=25,placement=") + placement, table, "3000");
      const auto beside = run(values, false, false, trace, hybrid);
      const auto plain = run(values, false, false, trace);
      EXPECT_EQ(figures(beside) == figures(plain), !follows);
      const auto says = [](const std::vector<std::string>& texts, const std::string& what) {
        return std::any_of(texts.begin(), texts.end(),
                           [&](const std::string& s) { return s.find(what) != std::string::npos; });
      };
      EXPECT_EQ(says(beside.assumptions, "They keep the tokens of their window"), follows);
      EXPECT_EQ(says(beside.assumptions, "still holds and reads every token in them"), !follows);
      EXPECT_FALSE(says(beside.assumptions, "they count as one"));
      const bool shares = std::string(placement) == "holes" && !follows;
      EXPECT_EQ(says(beside.warnings, "prefix_cache is ignored"), !shares);
    }
}

/// If every layer has a window, the policy has nothing to decide.
TEST(TablesRuns, WindowsEverywhereLeaveThePolicyNothing) {
  const auto trace = trace_of(30, 150);
  const auto windows = options({20, 20, 20, 20});
  const auto h2o = run(scenario_with("h2o:hh=10,recent=12,placement=compact", "layer", "4000"), false, false,
                       trace, windows);
  auto result = run(scenario_with("snapkv:window=4,capacity=30,placement=compact", "layer", "4000"), false,
                    false, trace, windows);
  EXPECT_EQ(result.evicted_tokens, h2o.evicted_tokens);
  EXPECT_EQ(result.evicted_blocks, h2o.evicted_blocks);
  EXPECT_EQ(result.compactions, 0);
  EXPECT_EQ(h2o.compactions, 0);
  EXPECT_EQ(runs::requests_csv(result).substr(0, 400).find("rejected"), std::string::npos);
}

/// With counted policies, a recording changes nothing except what is known about quality.
TEST(TablesRuns, CountedIsReplayed) {
  const auto trace = trace_of(30, 150);
  for (const char* policy :
       {"pyramidkv:window=4,capacity=40,beta=5,placement=compact", "pyramidinfer:ratio=0.5,placement=compact",
        "snapkv:window=4,capacity=30,placement=compact"})
    for (const char* table : {"all", "layer", "head"}) {
      const Values values = scenario_with(policy, table, "500");
      EXPECT_EQ(figures(run(values, false, false, trace)), figures(run(values, true, false, trace)))
          << policy << " " << table;
    }
}

/// If all layers keep the same tokens, tables by layer change only the bytes of table entries.
TEST(TablesRuns, AlikeLayersNeedNoTables) {
  const auto trace = trace_of(30, 150);
  for (const char* policy :
       {"snapkv:window=4,capacity=30,placement=compact", "h2o:hh=6,recent=9,placement=compact"}) {
    SCOPED_TRACE(policy);
    const auto one = run(scenario_with(policy, "all", "4000"), false, false, trace);
    for (const auto& [table, tables] : {std::pair{"layer", kLayers}, std::pair{"head", kLayers * kHeads}}) {
      const auto many = run(scenario_with(policy, table, "4000"), false, false, trace);
      EXPECT_EQ(many.makespan.count, one.makespan.count);
      EXPECT_EQ(many.compactions, one.compactions);
      EXPECT_EQ(many.compaction_bytes, one.compaction_bytes);
      EXPECT_EQ(many.evicted_blocks, one.evicted_blocks * tables);
      const auto& layout = many.details[0].layout;
      EXPECT_EQ(layout.tables, tables);
      EXPECT_EQ(layout.alloc_unit_bytes(), 8 * layout.token_bytes / tables + 4);
      for (const auto state : {observe::State::kReserved, observe::State::kHole, observe::State::kTail})
        EXPECT_EQ(at(many.memory->peak_bytes, state), at(one.memory->peak_bytes, state));
      const std::int64_t held =
          layout.alloc_units - (at(many.memory->peak_bytes, observe::State::kFree) +
                                at(many.memory->peak_bytes, observe::State::kStranded)) /
                                   layout.alloc_unit_bytes();
      EXPECT_EQ(at(many.memory->peak_bytes, observe::State::kMetadata) -
                    at(one.memory->peak_bytes, observe::State::kMetadata),
                4 * held);
    }
  }
}

/// One request by hand: after the prompt, each layer holds the blocks of its own capacity.
TEST(TablesRuns, PyramidHoldsWhatEachLayerKeeps) {
  traces::Trace trace = trace_of(1, 60);
  trace.input_tokens = {120};
  trace.output_tokens = {2};
  const std::string policy = "pyramidkv:window=4,capacity=40,beta=5,placement=compact";
  const auto retained = attention::pyramid_retained(40, 4, 5, 120, kLayers);
  ASSERT_GT(retained.front(), retained.back());
  const auto many = run(scenario_with(policy, "layer", "4000"), false, false, trace);
  const auto one = run(scenario_with(policy, "all", "4000"), false, false, trace);
  std::int64_t blocks = 0;
  for (const std::int64_t tokens : retained) blocks += ceil_div(tokens, 8);
  EXPECT_EQ(many.evicted_blocks, kLayers * 15 - blocks);
  EXPECT_EQ(one.evicted_blocks, 15 - ceil_div(retained.front(), 8));
  const std::int64_t kept = std::accumulate(retained.begin(), retained.end(), std::int64_t{0});
  EXPECT_EQ(many.compaction_bytes, kept * many.details[0].layout.cell_bytes());
  EXPECT_EQ(one.compaction_bytes, kept * one.details[0].layout.cell_bytes());
}

TEST(TablesRuns, WithoutPolicyTablesAreCountedAsOne) {
  const auto trace = trace_of(10, 100);
  Values values = scenario_with("full", "all", "1000");
  const auto one = run(values, false, false, trace);
  values = scenario_with("full", "head", "1000");
  const auto many = run(values, false, false, trace);
  EXPECT_EQ(figures(one), figures(many));
  EXPECT_TRUE(std::any_of(many.assumptions.begin(), many.assumptions.end(), [](const std::string& s) {
    return s.find("they count as one") != std::string::npos;
  }));
}

}  // namespace
}  // namespace kvplan::small_model
