// The knee of a sweep over one value, and its charts.
#include <gtest/gtest.h>
#include <simdjson.h>

#include "simulator/base/random.h"
#include "simulator/report/answer.h"
#include "simulator/report/comparison.h"
#include "simulator/report/comparison_charts.h"
#include "simulator/report/markup.h"
#include "simulator/study/shortage.h"
#include "tests/unit/report/answer_cases.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/report/xml.h"
#include "tests/unit/traces/support.h"

namespace kvplan::report {
namespace {

using runs::Comparison;
using runs::RunResult;

/// The smallest i so that every j >= i is good.
std::optional<std::size_t> naive_knee(const std::vector<Made>& made, const std::string& metric) {
  for (std::size_t i = 0; i < made.size(); ++i) {
    bool all = true;
    for (std::size_t j = i; j < made.size(); ++j) {
      if (made[j].rejected != made.back().rejected) all = false;
      if (metric == "output_tokens_per_s" && made[j].tokens_per_s / made.back().tokens_per_s < 0.95)
        all = false;
      if (metric == "ttft_p99_s" && made[j].ttft_p99 / made.back().ttft_p99 > 1.05) all = false;
      if (metric == "preemptions" && made[j].preemptions != 0) all = false;
    }
    if (all) return i;
  }
  return std::nullopt;
}

TEST(Knee, IsWhatItsDefinitionSays) {
  Random random(4, "knees");
  std::size_t inside = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<Made> made(3 + random.below(5));
    std::vector<std::pair<std::string, Made>> pools;
    for (std::size_t i = 0; i < made.size(); ++i) {
      // Values that are not on a border of 5 %.
      made[i].tokens_per_s = 901 + 7 * static_cast<double>(random.below(20));
      made[i].ttft_p99 = 1.001 + 0.017 * static_cast<double>(random.below(8));
      made[i].preemptions = static_cast<std::int64_t>(random.below(2));
      made[i].rejected = random.below(8) == 0 ? 1 : 0;
      pools.emplace_back(std::to_string(1000 * (i + 1)), made[i]);
    }
    // Given in another order than by size.
    std::rotate(pools.begin(), pools.begin() + 1, pools.end());
    const Comparison comparison = comparison_of("memory.pool_tokens", pools);
    const auto knees = runs::knees_of(comparison);
    ASSERT_EQ(knees.size(), 3U);
    for (const runs::Knee& knee : knees) {
      EXPECT_EQ(knee.at, naive_knee(made, std::string(knee.metric))) << knee.metric;
      inside += knee.at && *knee.at > 0 && *knee.at + 1 < made.size() ? 1 : 0;
    }
  }
  EXPECT_GT(inside, 100U);
}

TEST(Knee, IsSaidWithItsDefinition) {
  const Comparison comparison = comparison_of(
      "memory.pool_tokens", {{"10000", {.tokens_per_s = 500, .ttft_p99 = 9, .preemptions = 3}},
                             {"20000", {.tokens_per_s = 960, .ttft_p99 = 3, .preemptions = 2}},
                             {"40000", {.tokens_per_s = 1000, .ttft_p99 = 2, .preemptions = 1}}});
  EXPECT_EQ(
      knee_sentences(comparison),
      (std::vector<std::string>{
          "The knee of a figure is the smallest of these pools for which the figure of this pool and of "
          "every larger one is within 5 % of the largest pool's (for preemptions: is zero), with the same "
          "requests completed.",
          "The knee of output tokens per second is a pool of 20,000 tokens (960; the largest, a pool of "
          "40,000 tokens, gives 1,000).",
          "The knee of p99 of the time to first token is not below the largest pool tried, a pool of 40,000 "
          "tokens (2.00 s; the next, a pool of 20,000 tokens, gives 3.00 s): a larger one may still help.",
          "No knee of preemptions: the largest pool tried, a pool of 40,000 tokens, still has 1.00."}));
  EXPECT_TRUE(knee_sentences(comparison_of("memory.pool_tokens", {{"1", {}}, {"2", {}}})).empty())
      << "two are no curve";
  EXPECT_TRUE(knee_sentences(comparison_of("seed", {{"1", {}}, {"2", {}}, {"3", {}}})).empty());
}

TEST(Knee, ChartPointsAreThePoolsAndFigures) {
  const Comparison comparison = comparison_of("memory.pool_tokens", {{"10000", {.tokens_per_s = 500}},
                                                                     {"20000", {.tokens_per_s = 960}},
                                                                     {"40000", {.tokens_per_s = 1000}}});
  const auto knees = runs::knees_of(comparison);
  const testing::Element svg = testing::parse_xml(knee_chart(comparison, knees[0], "k"));
  const auto points = testing::path_points(svg.with("class", "line l0").at(0)->attributes.at("d"));
  ASSERT_EQ(points.size(), 3U);
  const double x0 = 2 * points[0].x - points[1].x;  // 10,000 is half of 20,000
  EXPECT_NEAR(points[2].x - x0, 4 * (points[0].x - x0), 0.05);
  EXPECT_NEAR((points[1].y - points[0].y) / (points[2].y - points[0].y), 460.0 / 500, 1e-3);
  EXPECT_EQ(svg.with("class", "point knee").at(0)->attributes.at("cx"), coordinate(points[1].x));
  EXPECT_NE(svg.all_text().find("knee: 20,000 tokens"), std::string::npos);
}

TEST(RunningChart, StripsAreTheMeansOfTheBins) {
  std::vector<RunResult> results;
  for (const char* seats : {"2", "6"}) {
    auto settings = testing::small_settings();
    settings.push_back({"engine.max_seqs", seats, {}, 0});
    results.push_back(testing::result_of(settings, testing::small_trace(), 7));
  }
  const testing::Element svg =
      testing::parse_xml(running_chart({{"two", &results[0]}, {"six", &results[1]}}, "r"));
  const auto lines = svg.with("class", "line l0");
  ASSERT_EQ(lines.size(), 2U);
  double most = 0;
  for (const RunResult& r : results)
    for (const auto& bin : r.details[0].timeline) most = std::max(most, bin.mean(observe::kStates));
  for (std::size_t k = 0; k < 2; ++k) {
    const auto points = testing::path_points(lines[k]->attributes.at("d"));
    const double bottom = std::stod(svg.with("class", "strip").at(k)->attributes.at("y1"));
    const double top = std::stod(svg.with("class", "strip top").at(k)->attributes.at("y1"));
    const auto& bins = results[k].details[0].timeline;
    EXPECT_NEAR((bottom - points[0].y) / (bottom - top), bins[0].mean(observe::kStates) / most, 1e-3);
    EXPECT_NEAR((bottom - points.back().y) / (bottom - top), bins.back().mean(observe::kStates) / most, 1e-3);
  }
}

}  // namespace
}  // namespace kvplan::report
