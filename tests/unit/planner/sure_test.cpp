// Intervals hold the truth as often as they say, and what changes a decision is named.
#include "simulator/planner/sure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "simulator/base/random.h"
#include "simulator/planner/target.h"
#include "simulator/run/run.h"
#include "tests/unit/traces/support.h"
#include "traces/edit/edits.h"

namespace kvplan::planner {
namespace {

/// Poisson arrivals with lengths of a wide distribution: `requests` of them.
traces::Trace drawn_traffic(std::uint64_t seed, std::int64_t requests) {
  Random random(seed, "sure_test");
  std::string rows = "arrival_ns,input_tokens,output_tokens\n";
  double at = 0;
  for (std::int64_t i = 0; i < requests; ++i) {
    at += -std::log(1 - random.unit()) * 50e6;
    const auto input = static_cast<std::int64_t>(40 * std::exp(1.2 * (random.unit() + random.unit())));
    rows += std::to_string(static_cast<std::int64_t>(at)) + "," + std::to_string(input) + "," +
            std::to_string(1 + random.below(30)) + "\n";
  }
  return traces::testing::import_text(rows).value();
}

struct Measured {
  double mean_ttft_s{0};
  double met{0};
};
Measured measure(const traces::Trace& trace) {
  static const std::vector<runs::Setting> settings{
      {"workload.trace", "drawn", {}, 0},
      {"memory.pool_tokens", "40000", {}, 0},
      {"latency", "affine:base_ns=4000000,token_ns=30000,context_ns=300", {}, 0},
      {"targets.ttft_s", "0.02", {}, 0}};
  static const runs::Scenario scenario = runs::resolve(settings).value();
  runs::RunOptions options;
  const runs::RunResult result = runs::run_scenario(scenario, trace, options).value();
  return {result.ttft->mean, met_fraction(result, nullptr).value()};
}

TEST(PlanIntervals, NinetyPercentOfThemHoldTheTruth) {
  const Measured truth = measure(drawn_traffic(0, 60'000));
  ASSERT_GT(truth.met, 0.6);
  ASSERT_LT(truth.met, 0.98);
  constexpr int kCases = 200, kResamples = 60;
  int means = 0, fractions = 0;
  for (int i = 1; i <= kCases; ++i) {
    const traces::Trace traffic = drawn_traffic(static_cast<std::uint64_t>(1000 + i), 400);
    std::vector<double> mean, met;
    for (std::uint64_t r = 1; r <= kResamples; ++r) {
      const Measured each = measure(traces::resampled(traffic, r).value());
      mean.push_back(each.mean_ttft_s);
      met.push_back(each.met);
    }
    const Interval of_mean = interval_of(mean).value(), of_met = interval_of(met).value();
    means += of_mean.low <= truth.mean_ttft_s && truth.mean_ttft_s <= of_mean.high ? 1 : 0;
    fractions += of_met.low <= truth.met && truth.met <= of_met.high ? 1 : 0;
  }
  RecordProperty("means", means);
  RecordProperty("fractions", fractions);
  std::printf("of %d intervals, %d hold the mean and %d the fraction\n", kCases, means, fractions);
  EXPECT_GE(means, kCases * 85 / 100);
  EXPECT_LE(means, kCases * 95 / 100);
  EXPECT_GE(fractions, kCases * 85 / 100);
  EXPECT_LE(fractions, kCases * 95 / 100);
}

TEST(PlanIntervals, AreRanksMadeALittleWider) {
  std::vector<double> values;
  for (int i = 99; i >= 1; --i) values.push_back(i);
  const Interval interval = interval_of(values).value();
  EXPECT_NEAR(interval.low, 50 - 45 * std::sqrt(13.0 / 12.0), 1e-9) << "5 is the fifth of 99 values";
  EXPECT_NEAR(interval.high, 50 + 45 * std::sqrt(13.0 / 12.0), 1e-9);
  EXPECT_EQ(interval_of({3}).value().low, 3);
  EXPECT_FALSE(interval_of({}));
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(interval_of({1, 2, infinite}).value().high, infinite);
}

}  // namespace
}  // namespace kvplan::planner
