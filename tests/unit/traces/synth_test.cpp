// The synthetic workload: repeatable, as its header says, and equal to the bundled sample.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/traces/support.h"
#include "traces/record/statistics.h"
#include "traces/synth/chat.h"

namespace kvplan::traces {
namespace {

Trace made(const ChatOptions& options) {
  Result<Trace> trace = make_chat(options);
  EXPECT_TRUE(trace.ok()) << trace.error().to_string();
  return std::move(trace).value();
}

TEST(Synth, TheBundledSampleIsMadeByTheDefaults) {
  const Result<Trace> sample = open_trace(KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt");
  ASSERT_TRUE(sample.ok()) << sample.error().to_string();
  testing::expect_same(sample.value(), made({}));
}

TEST(Synth, OptionsAndSeedDecideEverything) {
  const ChatOptions options{
      .requests = 200, .seed = 9, .rate_mhz = 100, .burst_factor = 2, .block_tokens = 64};
  EXPECT_EQ(made(options).digest, made(options).digest);
  ChatOptions other = options;
  other.seed = 10;
  EXPECT_NE(made(options).digest, made(other).digest);
}

TEST(Synth, AWellFormedTraceThatAnImporterWouldGive) {
  const testing::TemporaryFolder folder;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace =
        made({.requests = 300, .seed = seed, .rate_mhz = 7000, .burst_factor = 3, .block_tokens = 32});
    EXPECT_EQ(trace.size(), 300);
    EXPECT_TRUE(std::is_sorted(trace.arrival_ns.begin(), trace.arrival_ns.end()));
    EXPECT_GE(trace.arrival_ns.front(), 0);
    EXPECT_GT(*std::min_element(trace.output_tokens.begin(), trace.output_tokens.end()), 0);
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < 300; ++i) {
      const std::uint64_t count = trace.prefix.offsets[i + 1] - trace.prefix.offsets[i];
      EXPECT_EQ(count, static_cast<std::uint64_t>(ceil_div(trace.input_tokens[i], 32)));
    }
    for (const std::uint32_t id : trace.prefix.ids) {
      ASSERT_LE(id, next);  // numbered by first appearance
      next = std::max(next, id + 1);
    }
    EXPECT_EQ(next, trace.prefix.distinct);
  }
}

TEST(Synth, TurnsSendTheWholeHistoryAgain) {
  const Trace trace = made({});
  std::map<std::int32_t, std::size_t> last;
  for (std::size_t i = 0; i < trace.session.size(); ++i) {
    const auto [before, fresh] = last.try_emplace(trace.session[i], i);
    if (fresh) continue;
    const std::size_t j = std::exchange(before->second, i);
    // The new prompt contains the old one, its answer and a question; all full blocks of the old prompt occur
    // again.
    ASSERT_GT(trace.input_tokens[i], trace.input_tokens[j] + trace.output_tokens[j]);
    const auto full = static_cast<std::uint64_t>(trace.input_tokens[j] / 16);
    for (std::uint64_t k = 0; k < full; ++k)
      ASSERT_EQ(trace.prefix.ids[trace.prefix.offsets[i] + k], trace.prefix.ids[trace.prefix.offsets[j] + k]);
  }
}

TEST(Synth, RateAndBursts) {
  // Long enough for the average: 5 per second within a tenth, and gaps more uneven than Poisson's.
  const Statistics found = compute_statistics(made({.requests = 60'000}));
  EXPECT_NEAR(found.rate_per_s.value(), 5.0, 0.5);
  EXPECT_GT(found.interarrival_cv.value(), 1.05);
}

TEST(Synth, OptionsOutOfRange) {
  EXPECT_EQ(make_chat({.requests = 0}).error().to_string(), "requests: expected 1 to 1000000, found 0");
  EXPECT_EQ(make_chat({.rate_mhz = 0}).error().to_string(), "rate: expected 1 to 1000000000, found 0");
  EXPECT_EQ(make_chat({.burst_factor = 1001}).error().to_string(), "burst: expected 1 to 1000, found 1001");
  EXPECT_EQ(make_chat({.block_tokens = 0}).error().to_string(), "block: expected 1 to 4096, found 0");
  EXPECT_TRUE(make_chat({.requests = 1, .rate_mhz = 1, .burst_factor = 1000, .block_tokens = 1}).ok());
  EXPECT_TRUE(
      make_chat({.requests = 10, .rate_mhz = 1'000'000'000, .burst_factor = 1, .block_tokens = 4096}).ok());
}

}  // namespace
}  // namespace kvplan::traces
