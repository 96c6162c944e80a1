// How many dropped tokens attention reads, in step times: engine.reads. The load of each step is compared with counts
// by hand and with memory as the ledger counts it.
#include <gtest/gtest.h>

#include "simulator/results/report.h"
#include "simulator/run/run.h"

namespace kvplan {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

traces::Trace one_request(std::int32_t input, std::int32_t output) {
  traces::Trace trace;
  trace.arrival_ns.push_back(0);
  trace.input_tokens.push_back(input);
  trace.output_tokens.push_back(output);
  trace.digest = "test";
  return trace;
}

/// The tokens that all steps read: steps last as many ns as they read tokens.
std::int64_t read_in_all(const Values& more, const traces::Trace& trace, bool naive) {
  std::vector<runs::Setting> settings{{"latency", "affine:base_ns=0,token_ns=0,context_ns=1", {}, 0},
                                      {"memory.pool_tokens", "800", {}, 0}};
  for (const auto& [path, text] : more) settings.push_back({path, text, {}, 0});
  const auto scenario = runs::resolve(settings);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  runs::RunOptions options;
  options.step_by_step = naive;
  const auto result = runs::run_scenario(scenario.value(), trace, options);
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return result.value().makespan.count / kTicksPerNs;
}

const std::pair<std::string, std::string> kBlocks{"memory.allocator", "paged:block_tokens=4"};

struct Counted {
  const char* eviction;
  std::int64_t kept, held;
};

/// A prompt of 10 tokens, 6 of output: five decode steps, before which 10 to 14 tokens were written; blocks of 4.
TEST(Reads, AreAsCountedByHand) {
  const Counted cases[]{
      // 5 each; held 10-4, 11-4, 12-4, 13-8, 14-8: first the cells of one block were freed, then of two
      {"window:window=5", 25, 6 + 7 + 8 + 5 + 6},
      // 1 + 5 each; the sink's block is never freed, the second block is freed when its 4 cells are dropped
      {"streaming-llm:sink=1,recent=5", 30, 10 + 11 + 12 + 9 + 10},
      // the table of the example in simulator/docs/semantics.md
      {"window:window=5,placement=compact", 25, 5 + 6 + 7 + 8 + 5},
      // a token takes the slot of a dropped one: only the prompt leaves holes, which are not read while they wait
      {"window:window=5,placement=reuse", 25, 25},
      {"full", 60, 60},
  };
  for (const Counted& c : cases) {
    SCOPED_TRACE(c.eviction);
    for (const bool naive : {true, false}) {
      EXPECT_EQ(read_in_all({{"eviction", c.eviction}, kBlocks}, one_request(10, 6), naive), c.kept);
      EXPECT_EQ(read_in_all({{"eviction", c.eviction}, kBlocks, {"engine", "vllm-v1:reads=kept"}},
                            one_request(10, 6), naive),
                c.kept);
      EXPECT_EQ(read_in_all({{"eviction", c.eviction}, kBlocks, {"engine", "vllm-v1:reads=held"}},
                            one_request(10, 6), naive),
                c.held);
    }
  }
}

/// If nothing is freed, everything is read.
TEST(Reads, OfContiguousMemoryAreEverything) {
  const Values range{{"memory.allocator", "contiguous:reserve=oracle"}, {"eviction", "window:window=5"}};
  Values held = range;
  held.emplace_back("engine", "vllm-v1:reads=held");
  for (const bool naive : {true, false}) {
    EXPECT_EQ(read_in_all(range, one_request(10, 6), naive), 25);
    EXPECT_EQ(read_in_all(held, one_request(10, 6), naive), 60);
  }
}

/// The default is not written, so that earlier texts do not change; the choice is stated where it matters.
TEST(Reads, AreSaidWhereTheyMatter) {
  const auto said = [](const char* eviction, const char* engine) {
    const std::vector<runs::Setting> settings{
        {"eviction", eviction, {}, 0}, {"engine", engine, {}, 0}, {"memory.pool_tokens", "800", {}, 0}};
    const auto scenario = runs::resolve(settings);
    EXPECT_TRUE(scenario.ok());
    const auto result = runs::run_scenario(scenario.value(), one_request(10, 6), {});
    EXPECT_TRUE(result.ok());
    return runs::report_json(result.value());
  };
  EXPECT_EQ(said("window:window=5", "vllm-v1:reads=kept").find("reads"), std::string::npos);
  EXPECT_NE(
      said("window:window=5", "vllm-v1:reads=held").find("Attention time includes reading evicted tokens"),
      std::string::npos);
  EXPECT_EQ(said("full", "vllm-v1:reads=held").find("Attention time includes reading evicted tokens"),
            std::string::npos);
}

}  // namespace
}  // namespace kvplan
