// Whether requests arrive faster than they are served: by hand, and with constant loads below and above a known
// capacity.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/report/cases.h"
#include "tests/unit/traces/support.h"

namespace kvplan::runs {
namespace {

using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

/// Requests at these nanoseconds with 8 prompt and `output` output tokens.
std::string rows_of(const std::vector<std::int64_t>& arrivals, int output) {
  std::string rows = "arrival_ns,input_tokens,output_tokens\n";
  for (const std::int64_t ns : arrivals) rows += std::to_string(ns) + ",8," + std::to_string(output) + "\n";
  return rows;
}

/// Steps of one millisecond; `slots` requests at once.
RunResult run(const std::string& rows, const std::string& slots, bool rejects = false) {
  std::vector<Setting> settings{{"memory.pool_blocks", "1000", {}, 0},
                                {"engine.max_seqs", slots, {}, 0},
                                {"latency", "affine:base_ns=1000000,token_ns=0,context_ns=0", {}, 0}};
  if (rejects) settings.push_back({"engine.max_model_len", "100", {}, 0});
  return report::testing::result_of(settings, traces::testing::import_text(rows).value(), 0);
}

constexpr std::int64_t kMs = 1'000'000;

TEST(Saturation, ByHand) {
  // One request at a time, ten milliseconds each: they begin at 0, 10, 20 and 30 ms.
  const Saturation behind = *run(rows_of({0, kMs, 2 * kMs, 3 * kMs}, 10), "1").saturation;
  EXPECT_EQ(behind.saturated, true);
  EXPECT_EQ(behind.backlog, 3);
  EXPECT_EQ(behind.drain, ticks_from_ns(27 * kMs));
  // Each request arrives when the one before has ended.
  const Saturation even = *run(rows_of({0, 10 * kMs, 20 * kMs, 30 * kMs}, 10), "1").saturation;
  EXPECT_EQ(even.saturated, false);
  EXPECT_EQ(even.backlog, 0);
  EXPECT_EQ(even.drain, Ticks{});
  // A rate needs two different times.
  const Saturation batch = *run(rows_of({0, 0, 0}, 10), "1").saturation;
  EXPECT_EQ(batch.saturated, std::nullopt);
  EXPECT_EQ(batch.backlog, 2);
  EXPECT_EQ(batch.drain, ticks_from_ns(20 * kMs));
  EXPECT_FALSE(run("arrival_ns,input_tokens,output_tokens\n0,500,5\n", "1", true).saturation.has_value())
      << "a rejected request is no load";
}

TEST(Saturation, TheLastArrivalIsOfAServedRequest) {
  const std::string rows = rows_of({0, 10 * kMs, 20 * kMs}, 10) + "900000000,500,5\n";
  const RunResult r = run(rows, "1", true);
  ASSERT_EQ(r.rejected, 1);
  EXPECT_EQ(r.saturation->drain, Ticks{});
  EXPECT_EQ(r.saturation->backlog, 0);
}

TEST(Saturation, ATwentiethOfTheSpanIsTheBorder) {
  // Two requests begin 200 ms apart; the third, with one slot, begins only when the second ends.
  const auto of = [](std::int64_t last_ms) {
    return *run(rows_of({0, 200 * kMs, last_ms * kMs}, 20), "1").saturation;
  };
  // The second runs from 200 to 220 ms. Span 209 ms, drain 11 ms: more than 10.45. Span 210, drain 10: less than 10.5.
  EXPECT_EQ(of(209).saturated, true);
  EXPECT_EQ(of(209).drain, ticks_from_ns(11 * kMs));
  EXPECT_EQ(of(210).saturated, false);
  EXPECT_EQ(of(210).drain, ticks_from_ns(10 * kMs));
}

/// Four requests at once, a hundred steps each: forty per second are served.
RunResult constant_load(double per_s, int count) {
  std::vector<std::int64_t> arrivals;
  for (int i = 0; i < count; ++i) arrivals.push_back(std::llround(i * 1e9 / per_s));
  return run(rows_of(arrivals, 100), "4");
}

TEST(Saturation, ConstantLoadsBelowAndAboveCapacity) {
  constexpr double kServed = 40;
  for (const int count : {400, 1600}) {
    for (const double load : {4.0, 20.0, 36.0, 39.0}) {
      const RunResult r = constant_load(load, count);
      EXPECT_EQ(r.saturation->saturated, false) << load;
      EXPECT_LE(r.saturation->backlog, 4) << load;
      EXPECT_LE(r.queue->p99, 0.1) << load;
    }
    for (const double load : {44.0, 60.0, 120.0, 400.0}) {
      const RunResult r = constant_load(load, count);
      const double span = (count - 1) / load;
      EXPECT_EQ(r.saturation->saturated, true) << load;
      EXPECT_NEAR(static_cast<double>(r.saturation->backlog), (load - kServed) * span - 4, 6) << load;
      EXPECT_NEAR(seconds(r.saturation->drain), (load / kServed - 1) * span, 0.15) << load;
    }
  }
  // The same with four times the requests: such a latency is meaningless.
  EXPECT_GT(constant_load(60, 1600).ttft->p99, 3.5 * constant_load(60, 400).ttft->p99);
}

TEST(Saturation, IsSaidInsteadOfALatency) {
  const TemporaryFolder folder;
  std::vector<std::int64_t> arrivals;
  for (int i = 0; i < 400; ++i) arrivals.push_back(i * 10 * kMs);
  const std::string trace = folder.file("t.csv");
  write_file(trace, rows_of(arrivals, 100));
  const std::string common =
      " '" + trace + "' --set latency=affine:base_ns=1000000,token_ns=0,context_ns=0 --set engine.max_seqs=4";
  const std::string alone = run_kvplan("run" + common).out;
  EXPECT_NE(alone.find("Requests came faster than they were served"), std::string::npos) << alone;
  const std::string one = run_kvplan("compare" + common + " --vary 'engine.max_seqs=4;32;64'").out;
  EXPECT_NE(one.find("With max_seqs=4 requests come faster than they are served"), std::string::npos) << one;
  EXPECT_EQ(one.find("seconds with max_seqs=4, "), std::string::npos) << one;
  const std::string all = run_kvplan("compare" + common + " --vary 'engine.max_seqs=2;4'").out;
  EXPECT_NE(all.find("In every variant requests come faster than they are served; the worst is max_seqs=2"),
            std::string::npos)
      << all;
  EXPECT_EQ(all.find("TTFT is"), std::string::npos) << all;
}

}  // namespace
}  // namespace kvplan::runs
