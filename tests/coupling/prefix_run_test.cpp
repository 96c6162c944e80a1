// Runs with requests that follow courses and hit cached blocks: tokens dropped in place stay for other holders.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tests/coupling/small_model.h"

namespace kvplan::small_model {
namespace {

/// Prompts that each begin with one of a few beginnings.
traces::Trace shared_trace(std::int64_t requests, std::int64_t longest) {
  traces::Trace trace = trace_of(requests, longest);
  Random random(23, "shared prompts");
  traces::PrefixHashes& prefix = trace.prefix;
  prefix.block_tokens = 8;
  prefix.offsets.push_back(0);
  std::uint32_t next = 100;
  for (const std::int32_t input : trace.input_tokens) {
    const auto family = static_cast<std::uint32_t>(random.below(3));
    const std::int64_t common = random.between(0, 16);
    for (std::int64_t b = 0; b < ceil_div(input, 8); ++b)
      prefix.ids.push_back(b < common ? family * 30 + static_cast<std::uint32_t>(b) : next++);
    prefix.offsets.push_back(prefix.ids.size());
  }
  // Ids are dense, numbered by first appearance.
  std::vector<std::uint32_t> seen;
  for (std::uint32_t& id : prefix.ids) {
    const auto at = std::ranges::find(seen, id);
    const auto dense = static_cast<std::uint32_t>(at - seen.begin());
    if (at == seen.end()) seen.push_back(id);
    id = dense;
  }
  prefix.distinct = static_cast<std::uint32_t>(seen.size());
  return trace;
}

Values with_engine(const std::string& eviction, const std::string& pool, const std::string& more = "") {
  Values values = scenario_with(eviction, "all", pool);
  values.emplace_back("engine", "vllm-v1:token_budget=64,max_seqs=12,max_model_len=300" + more);
  return values;
}

bool says(const std::vector<std::string>& sentences, std::string_view part) {
  return std::ranges::any_of(sentences,
                             [&](const std::string& s) { return s.find(part) != std::string::npos; });
}

TEST(PrefixRuns, FastEqualsNaive) {
  const auto trace = shared_trace(40, 150);
  std::int64_t preemptions = 0;
  for (const std::string policy :
       {"tova:budget=20", "expr:score=windowed,window=5,budget=20", "snapkv:capacity=24,window=8",
        "scissorhands:budget=30,recent=8,drop=4,history=16", "knorm:budget=24", "keydiff:budget=24"}) {
    const bool tensors = policy.starts_with("k");
    const auto how =
        options(std::vector<std::int64_t>(kLayers, 0), tensors ? recorded_tensors() : recorded_rows());
    for (const std::string pool : {"400", "2000"}) {
      SCOPED_TRACE(policy + " " + pool);
      const auto fast = run(with_engine(policy, pool), true, false, trace, how);
      const auto naive = run(with_engine(policy, pool), true, true, trace, how);
      EXPECT_EQ(figures(fast), figures(naive));
      EXPECT_EQ(fast.completed, 40);
      EXPECT_GT(fast.prefix_hit_tokens, 100);
      EXPECT_GT(fast.evicted_tokens, 100);
      EXPECT_FALSE(says(fast.warnings, "prefix_cache is ignored"));
      preemptions += fast.preemptions;
    }
  }
  EXPECT_GT(preemptions, 50);
}

/// Tokens with data that the policy needs must be computed: the rows of the last tokens, or of all.
TEST(PrefixRuns, ComputeWhatThePolicyDecidesBy) {
  // The second prompt equals the first, which is cached by then: 64 tokens in blocks of 8.
  traces::Trace trace;
  trace.arrival_ns = {0, 1'000'000'000'000};
  trace.input_tokens = {64, 64};
  trace.output_tokens = {2, 2};
  trace.prefix.block_tokens = 8;
  trace.prefix.offsets = {0, 8, 16};
  for (const std::uint32_t b : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U})
    trace.prefix.ids.push_back(b);
  trace.prefix.distinct = 8;
  trace.digest = "test";
  const auto hit_of = [&](const std::string& policy) {
    return run(with_engine(policy, "2000"), true, false, trace);
  };
  EXPECT_EQ(hit_of("tova:budget=60").prefix_hit_tokens, 56);
  EXPECT_EQ(hit_of("snapkv:capacity=30,window=8").prefix_hit_tokens, 56);
  EXPECT_EQ(hit_of("snapkv:capacity=30,window=9").prefix_hit_tokens, 48);
  EXPECT_EQ(hit_of("snapkv:capacity=30,window=24").prefix_hit_tokens, 40);
  EXPECT_TRUE(says(hit_of("snapkv:capacity=30,window=24").assumptions,
                   "After a prefix hit, the last 24 tokens of the prompt are still computed"));
  // For an expression, the rows that its variables need.
  EXPECT_EQ(hit_of("expr:score=position,budget=30").prefix_hit_tokens, 56);
  EXPECT_EQ(hit_of("expr:score=last,budget=30").prefix_hit_tokens, 56);
  EXPECT_EQ(hit_of("expr:score=windowed,window=9,budget=30").prefix_hit_tokens, 48);
  EXPECT_EQ(hit_of("expr:score=accumulated,budget=30").prefix_hit_tokens, 0);
  const auto h2o = hit_of("h2o:hh=10,recent=20");
  EXPECT_EQ(h2o.prefix_hit_tokens, 0);
  EXPECT_TRUE(
      says(h2o.warnings,
           "prefix_cache is ignored with eviction=h2o: the policy needs attention or queries of the whole "
           "prompt, which are not computed for hit blocks."));
}

/// An equal budget in all layers uses courses, a policy's number uses a keep rule: two ways to count sharing.
TEST(PrefixRuns, ABudgetOfEqualPartsIsTheKeepRule) {
  const auto trace = shared_trace(60, 150);
  for (const std::string pool : {"500", "3000"}) {
    const auto by_rule = run(with_engine("window:window=40", pool), false, false, trace);
    Values values = with_engine("window:window=7", pool);
    values.emplace_back("budget", "uniform:capacity=40");
    const auto by_courses = run(values, false, false, trace);
    EXPECT_GT(by_rule.prefix_hit_tokens, 500);
    EXPECT_GT(by_rule.hole_bytes_peak, 0);
    EXPECT_EQ(runs::requests_csv(by_rule), runs::requests_csv(by_courses));
    EXPECT_EQ(by_rule.hole_bytes_peak, by_courses.hole_bytes_peak);
    EXPECT_EQ(by_rule.evicted_blocks, by_courses.evicted_blocks);
    EXPECT_EQ(by_rule.evicted_tokens, by_courses.evicted_tokens);
    // One counts cells of a layer, the other slots of a token: equal up to rounding.
    for (std::size_t s = 0; s < observe::kStates; ++s)
      EXPECT_NEAR(by_rule.memory->mean_fraction[s], by_courses.memory->mean_fraction[s], 1e-14) << s;
  }
}

}  // namespace
}  // namespace kvplan::small_model
