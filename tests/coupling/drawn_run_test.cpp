// Random combinations of scenario settings for token policies: budgets with windows, with and without a prefix cache,
// with and without observers. A case is a function of its seed.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "simulator/core/observer.h"
#include "tests/coupling/small_model.h"
#include "tests/support/random_cases.h"

namespace kvplan::small_model {
namespace {

/// One of the texts, at random.
template <std::size_t N>
std::string one_of(Random& random, const std::array<const char*, N>& texts) {
  return texts[random.below(N)];
}

/// Policies that decide by position which tokens are dropped: with an event log, their blocks have ids.
std::string draw_policy(Random& random) {
  const std::string recent = std::to_string(random.between(1, 40));
  const std::string sink = std::to_string(random.between(0, 20));
  return one_of(random, std::array{"window:window=", "streaming-llm:sink="}) == "window:window="
             ? "window:window=" + recent
             : "streaming-llm:sink=" + sink + ",recent=" + recent;
}

/// Budgets of layers and heads; those that depend on the prompt's length come first. Empty: no budget.
std::string draw_budget(Random& random) {
  const std::string tokens = std::to_string(random.between(8, 60));
  switch (random.below(7)) {
    case 0:
      return "pyramidkv:capacity=" + tokens + ",window=4,beta=" + std::to_string(random.between(2, 20));
    case 1:
      return "pyramidkv-kvpress:ratio=0." + std::to_string(random.between(1, 9)) + ",window=4,beta=5";
    case 2:
      return "warm-up:ratio=0.3,budget=\"uniform:capacity=" + tokens + "\"";
    case 3:
      return "pyramidkv-paper:total=" + std::to_string(4 * random.between(8, 40)) + ",beta=4";
    case 4:
      return "seed-pyramid-linear:max_len=" + tokens + ",ratio=0.3,min_size=4";
    case 5:
      return "uniform:capacity=" + tokens;
    default:
      return "";
  }
}

traces::Trace draw_trace(Random& random) {
  traces::Trace trace;
  const bool shares = random.chance(2, 3);
  const std::int64_t gap_ns = random.chance(1, 4) ? 40'000'000 : 300'000;
  if (shares) {
    trace.prefix.block_tokens = 8;
    trace.prefix.offsets.push_back(0);
  }
  const std::int64_t requests = random.between(2, 30);
  std::vector<std::vector<std::uint32_t>> prompts;
  for (std::int64_t i = 0; i < requests; ++i) {
    const std::int64_t input = random.chance(1, 3) ? random.between(1, 20) : random.between(1, 149);
    trace.arrival_ns.push_back(i * gap_ns);
    trace.input_tokens.push_back(static_cast<std::int32_t>(input));
    trace.output_tokens.push_back(static_cast<std::int32_t>(random.between(1, 151 - input)));
    if (!shares) continue;
    std::vector<std::uint32_t> ids;
    if (!prompts.empty() && random.chance(3, 4)) ids = prompts[random.below(prompts.size())];
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(random.below(ids.size() + 1))));
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(ceil_div(input, 8))));
    while (std::ssize(ids) < ceil_div(input, 8))
      ids.push_back(static_cast<std::uint32_t>(trace.prefix.distinct++));
    trace.prefix.ids.insert(trace.prefix.ids.end(), ids.begin(), ids.end());
    trace.prefix.offsets.push_back(trace.prefix.ids.size());
    prompts.push_back(std::move(ids));
  }
  trace.digest = "test";
  return trace;
}

/// Makes blocks have ids, as an event log or a table of holders does.
class Watcher final : public core::Observer {};

struct Drawn {
  traces::Trace trace;
  Values values;
  std::string text;
};

Drawn draw_run(std::uint64_t seed) {
  Random random(seed, "drawn runs");
  Drawn out{draw_trace(random), {}, {}};
  const std::string policy =
      draw_policy(random) + ",placement=" + one_of(random, std::array{"holes", "holes", "reuse", "compact"});
  out.values = scenario_with(policy, one_of(random, std::array{"all", "all", "layer", "head"}),
                             std::to_string(random.chance(1, 2) ? random.between(300, 700) : 3000));
  const std::string budget = draw_budget(random);
  if (!budget.empty()) out.values.emplace_back("budget", budget);
  out.values.emplace_back("engine",
                          std::string("vllm-v1:token_budget=64,max_seqs=12,max_model_len=300,") +
                              one_of(random, std::array{"prefix_cache=false", "prefix_cache=true"}));
  if (random.chance(1, 4)) out.values.emplace_back("deployment.tp", "3");
  for (const auto& [path, text] : out.values) out.text += path + "=" + text + " ";
  return out;
}

TEST(DrawnRuns, FastStepwiseAndWatchedAreOne) {
  std::int64_t preemptions = 0, hits = 0, dropped = 0, budgets = 0;
  for (std::int64_t seed = 1; seed <= test::random_cases(300, 60); ++seed) {
    const Drawn drawn = draw_run(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + drawn.text);
    const auto scenario = resolved(drawn.values);
    ASSERT_TRUE(scenario.ok()) << scenario.error().to_string();
    runs::RunOptions how = options();
    const auto fast = runs::run_scenario(scenario.value(), drawn.trace, how);
    how.step_by_step = true;
    const auto naive = runs::run_scenario(scenario.value(), drawn.trace, how);
    how.step_by_step = false;
    std::vector<std::unique_ptr<Watcher>> watchers;
    how.extra_observers.emplace_back([&](const runs::Watched& /*replica*/) -> Result<core::Observer*> {
      return watchers.emplace_back(std::make_unique<Watcher>()).get();
    });
    const auto watched = runs::run_scenario(scenario.value(), drawn.trace, how);
    ASSERT_TRUE(fast.ok()) << fast.error().to_string();
    ASSERT_TRUE(naive.ok()) << naive.error().to_string();
    ASSERT_TRUE(watched.ok()) << watched.error().to_string();
    EXPECT_EQ(figures(fast.value()), figures(naive.value()));
    EXPECT_EQ(figures(fast.value()), figures(watched.value()));
    if (HasFailure()) return;
    preemptions += fast.value().preemptions;
    hits += fast.value().prefix_hit_tokens;
    dropped += fast.value().evicted_tokens;
    budgets += drawn.text.find(" budget=") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(preemptions, 20);
  EXPECT_GT(hits, 100);
  EXPECT_GT(dropped, 1000);
  EXPECT_GT(budgets, 20);
}

/// A former error: with a budget that depends on the prompt, two requests had tracks of their own, and the ledger,
/// which was told which blocks they hold, counted both as holders of the same blocks.
TEST(DrawnRuns, ABudgetOfEachPromptWithoutAPrefixCache) {
  traces::Trace trace;
  trace.arrival_ns = {0, 4'000'000'000};
  trace.input_tokens = {10, 200};
  trace.output_tokens = {30, 1};
  trace.digest = "test";
  Values values = scenario_with("window:window=16", "all", "2000");
  values.emplace_back("budget", "pyramidkv:capacity=100");
  values.emplace_back("engine", "vllm-v1:prefix_cache=false,max_model_len=300");
  const auto fast = run(values, false, false, trace);
  EXPECT_EQ(fast.completed, 2);
  EXPECT_EQ(figures(fast), figures(run(values, false, true, trace)));
}

}  // namespace
}  // namespace kvplan::small_model
