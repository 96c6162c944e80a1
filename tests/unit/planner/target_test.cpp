// Targets as users write them: units, forms, what is refused, and how values are judged.
#include "simulator/planner/target.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kvplan::planner {
namespace {

std::string error_of(const std::vector<std::string>& texts) {
  const auto parsed = parse_targets(texts);
  return parsed.ok() ? "no error" : parsed.error().to_string();
}

std::vector<Target> targets_from(const std::vector<std::string>& texts) {
  const auto parsed = parse_targets(texts);
  EXPECT_TRUE(parsed.ok());
  const auto scenario = runs::resolve(parsed.value().settings);
  EXPECT_TRUE(scenario.ok());
  return targets_of(scenario.value(), parsed.value().goodput_per_s);
}

TEST(PlanTargets, UnitsAreSecondsInTheEnd) {
  const auto targets = targets_from({"ttft.p99<=2s", "tpot.p95<=60ms", "queue.p50<=250us"});
  ASSERT_EQ(targets.size(), 3U);
  EXPECT_EQ(targets[0].name, "ttft.p99");
  EXPECT_EQ(targets[0].limit, 2);
  EXPECT_EQ(targets[1].limit, 0.06);
  EXPECT_EQ(targets[2].limit, 0.00025);
  EXPECT_EQ(targets[1].text(), "TPOT p95 at most 60.0 ms");
}

TEST(PlanTargets, ShareOfRequestsTakesTheLimitsOfPercentiles) {
  const auto targets = targets_from({"ttft.p99<=2s", "met>=0.95"});
  ASSERT_EQ(targets.size(), 2U);
  EXPECT_EQ(targets[1].kind, TargetKind::kMetFraction);
  EXPECT_EQ(targets[1].limit, 0.95);
  const auto limits = targets_from({"ttft<=500ms", "goodput>=0.9"});
  ASSERT_EQ(limits.size(), 1U);
  EXPECT_EQ(limits[0].limit, 0.9);
}

TEST(PlanTargets, GoodputIsARateWithItsUnit) {
  const auto targets = targets_from({"ttft<=2s", "goodput>=5/s"});
  ASSERT_EQ(targets.size(), 1U);
  EXPECT_EQ(targets[0].kind, TargetKind::kGoodput);
  EXPECT_EQ(targets[0].limit, 5);
}

TEST(PlanTargets, MistakesAreNamedWithWhatWasExpected) {
  EXPECT_NE(error_of({"ttft.p99<=2"}).find("with its unit s, ms or us"), std::string::npos);
  EXPECT_NE(error_of({"ttft.p99<=2GB"}).find("with its unit s, ms or us"), std::string::npos);
  EXPECT_NE(error_of({"tftt.p99<=2s"}).find("did you mean \"ttft\""), std::string::npos);
  EXPECT_NE(error_of({"ttft.p99"}).find("such as ttft.p99<=2s"), std::string::npos);
  EXPECT_NE(error_of({"ttft.p101<=2s"}).find("at most 100"), std::string::npos);
  EXPECT_NE(error_of({"ttft.p99<=2s", "ttft.p99<=3s"}).find("found a second"), std::string::npos);
  EXPECT_NE(error_of({"met>=1.5"}).find("a share above 0, at most 1"), std::string::npos);
  EXPECT_NE(error_of({"met>=0.9"}).find("expected a limit"), std::string::npos);
  EXPECT_NE(error_of({"queue<=2s"}).find("expected a percentile"), std::string::npos);
}

TEST(PlanTargets, TightnessIsOneAtTheLimit) {
  const Target ttft{TargetKind::kPercentile, "ttft.p99", 2},
      met{TargetKind::kMetFraction, "met_fraction", 0.9};
  const Target goodput{TargetKind::kGoodput, "goodput_per_s", 5};
  EXPECT_EQ(tightness(ttft, 2.0), 1);
  EXPECT_EQ(tightness(ttft, 1.0), 0.5);
  EXPECT_NEAR(tightness(met, 0.95), 0.5, 1e-12);
  EXPECT_EQ(tightness(goodput, 10.0), 0.5);
  EXPECT_TRUE(std::isinf(tightness(goodput, 0.0)));
  for (const Target& target : {ttft, met, goodput}) {
    EXPECT_TRUE(holds(target, target.limit));
    EXPECT_TRUE(holds(target, std::nullopt));
    const Target loose = looser(target, 0.1);
    EXPECT_TRUE(holds(loose, target.limit));
    EXPECT_LT(tightness(loose, target.limit), 1);
  }
  EXPECT_FALSE(holds(ttft, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(holds(met, 0.89));
}

}  // namespace
}  // namespace kvplan::planner
