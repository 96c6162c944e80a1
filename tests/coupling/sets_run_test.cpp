// Runs with requests that keep the retained sets of a file (recorded:file=F).
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/attention/recorded_sets.h"
#include "simulator/io/policy_files.h"
#include "tests/coupling/small_model.h"

namespace kvplan::small_model {
namespace {

constexpr std::int64_t kPrompt = 60;

/// The tokens that the policy keeps of the small model's recording, in the form of a file.
attention::RecordedLayers sets_of(const attention::Recording& recording, const std::string& policy,
                                  std::int64_t prompt = kPrompt) {
  attention::RecordedLayers out{.prompt = prompt, .layers = {}};
  for (int layer = 0; layer < kLayers; ++layer) {
    const auto outcome = attention::run_policy(recording, policy, prompt, layer);
    attention::RecordedSets sets{.layer = layer, .after = {outcome.after_prefill}};
    sets.after.insert(sets.after.end(), outcome.retained.begin(), outcome.retained.end());
    out.layers.push_back(std::move(sets));
  }
  return out;
}

runs::RunOptions with_sets(attention::RecordedLayers sets) {
  runs::RunOptions how = options();
  how.open_sets = [sets = std::make_shared<const attention::RecordedLayers>(std::move(sets))](
                      const std::string& /*path*/) {
    return Result<std::shared_ptr<const attention::RecordedLayers>>(sets);
  };
  return how;
}

/// Requests with one prompt, some as long as the recording allows: 150 tokens, and one more that is sampled last.
traces::Trace trace_of_prompt(std::int64_t requests) {
  Random random(3, "one prompt");
  traces::Trace trace = trace_of(requests, 90);
  for (std::size_t i = 0; i < trace.input_tokens.size(); ++i) {
    trace.input_tokens[i] = kPrompt;
    trace.output_tokens[i] = static_cast<std::int32_t>(i == 3 ? 91 : random.between(1, 91));
  }
  return trace;
}

/// A run with the sets that a policy kept equals a replay of this policy, block by block.
TEST(SetsRuns, EqualTheReplay) {
  const auto trace = trace_of_prompt(12);
  const auto recording = options().open_recording("").value();
  std::int64_t returned = 0;
  for (const auto& [policy, scope] :
       std::vector<std::pair<std::string, std::string>>{{"snapkv:window=4,capacity=30", "head"},
                                                        {"random:budget=20", "head"},
                                                        {"ada-kv:window=4,capacity=30", "head"},
                                                        {"tova:budget=20", "layer"}}) {
    const auto how = with_sets(sets_of(*recording, policy));
    for (const std::string placement : {",placement=holes", ",placement=reuse", ",placement=compact"})
      for (const char* table : {"all", "layer", "head"}) {
        SCOPED_TRACE(policy + placement + " " + table);
        const auto replayed =
            run(scenario_with(policy + placement, table, "4000"), true, false, trace, options());
        const Values values = scenario_with("recorded:file=sets,scope=" + scope + placement, table, "4000");
        const auto fast = run(values, false, false, trace, how);
        EXPECT_EQ(fast.completed, 12);
        EXPECT_EQ(whole_figures(fast), whole_figures(replayed));
        EXPECT_EQ(figures(fast), figures(run(values, false, true, trace, how)));
        returned += fast.evicted_blocks;
      }
  }
  EXPECT_GT(returned, 1000);
}

TEST(SetsRuns, SayWhatTheyNeed) {
  const auto recording = options().open_recording("").value();
  const auto sets = sets_of(*recording, "snapkv:window=4,capacity=30");
  const auto refused = [&](const std::string& error, const traces::Trace& trace, const runs::RunOptions& how,
                           const Values& more = {}, const std::string& file = "sets") {
    Values values = scenario_with("recorded:file=" + file, "head", "4000");
    values.insert(values.end(), more.begin(), more.end());
    const auto scenario = resolved(values);
    const auto result = scenario.ok() ? runs::run_scenario(scenario.value(), trace, how)
                                      : Result<runs::RunResult>(scenario.error());
    const std::string found = result.ok() ? "" : result.error().to_string();
    EXPECT_EQ(found.rfind(error, 0), 0U) << found;
    EXPECT_EQ(found.find('\n'), std::string::npos) << found;
  };
  const std::string field = "eviction: recorded:file: expected ";
  traces::Trace trace = trace_of_prompt(5);
  refused("", trace, with_sets(sets));
  trace.output_tokens = {92, 1, 92, 1, 1};  // nothing is dropped after the last of 151 tokens
  refused("", trace, with_sets(sets));
  trace.output_tokens = {92, 93, 92, 94, 1};
  const std::string others =
      field + "requests with the prompt length of the sets, 60 tokens, and with at most 92 of output: ";
  refused(others + "request 1 has 60 and 93; the same holds for 2 requests", trace, with_sets(sets));
  trace.input_tokens[0] = 59;
  refused(others + "request 0 has 59 and 92; the same holds for 3 requests", trace, with_sets(sets));
  // A rejected request needs no sets.
  trace = trace_of_prompt(5);
  trace.input_tokens[2] = 250;
  refused(others + "request 2 has 250", trace, with_sets(sets));
  refused("", trace, with_sets(sets), {{"engine", "vllm-v1:max_model_len=200"}});
  trace = trace_of_prompt(12);
  refused(field + "enough memory that no request is preempted: request ", trace, with_sets(sets),
          {{"memory.pool_tokens", "300"}});
  refused("eviction: retained sets cannot be read here", trace, options());
  auto three = sets;
  three.layers.pop_back();
  refused(field + "sets of layer 3, found sets of 0, 1, 2", trace, with_sets(three));
  auto two_heads = sets;
  for (auto& step : two_heads.layers[1].after) step.pop_back();
  refused(field + "3 sets at each step, found 2, layer 1", trace, with_sets(two_heads));
  auto back = sets;
  back.layers[2].after[5][0] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  back.layers[2].after[4][0] = {0, 2};
  refused(field + "only positions that were kept before or are new", trace, with_sets(back));
  refused(
      "deployment: a deployment with ranks that share no block tables does not work with eviction=recorded",
      trace, with_sets(sets), {{"deployment.pp", "2"}, {"memory.allocator", "paged:table=layer"}});
  refused("budget: budget=uniform does not work with eviction=recorded", trace, with_sets(sets),
          {{"budget", "uniform:capacity=9"}});
  refused("eviction: placement=compact does not work with memory.allocator=contiguous", trace,
          with_sets(sets),
          {{"memory.allocator", "contiguous"}, {"eviction", "recorded:file=sets,placement=compact"}});
  auto from_disk = options();
  from_disk.open_sets = io::read_recorded_sets;
  refused("no such file: eviction: recorded:file: cannot open: ", trace, from_disk, {}, "no such file");
}

}  // namespace
}  // namespace kvplan::small_model
