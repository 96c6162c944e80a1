// Answers about replicas: how many GPUs meet the targets.
#include <gtest/gtest.h>
#include <simdjson.h>
#include <tuple>

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

using observe::State;
using runs::Comparison;
using runs::RunResult;

/// Fleets at one load; `met` are shares of requests that met their targets, below 0 without targets.
Comparison fleets_of(const std::vector<std::tuple<std::int64_t, Made, double>>& fleets) {
  std::vector<std::pair<std::string, Made>> made;
  for (const auto& [replicas, one, met] : fleets) made.emplace_back(std::to_string(replicas), one);
  Comparison comparison = comparison_of("fleet.replicas", made);
  for (std::size_t v = 0; v < fleets.size(); ++v) {
    RunResult& r = *comparison.variants[v].result;
    const auto& [replicas, one, met] = fleets[v];
    auto settings = testing::small_settings();
    settings.push_back({"fleet.replicas", std::to_string(replicas), {}, 0});
    r.scenario = testing::scenario_of(settings);
    r.capacity_bytes *= replicas;
    r.ranks.tensor_ranks = 4;
    r.replicas.resize(static_cast<std::size_t>(replicas), r.replicas[0]);
    if (met < 0) continue;
    r.slo_met_fraction = met;
    r.goodput_per_s = 8 * met;
    r.slo_met = met >= 0.99;  // the default of targets.fraction
  }
  return comparison;
}

std::vector<std::string> first_of(const std::vector<std::string>& all, std::size_t count) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size()))};
}

TEST(Answer, ALargerBatchIsNoMeritOfOtherHardware) {
  // The slowest fleet has the most requests at once; all requests have made equal progress.
  const Comparison comparison = fleets_of({{1, {.mean_running = 27.8, .ttft_p99 = 1.2, .preemptions = 4}, -1},
                                           {2, {.mean_running = 19.6, .ttft_p99 = 0.4}, -1},
                                           {4, {.mean_running = 17.5, .ttft_p99 = 0.3}, -1}});
  const auto sentences = answer_sentences(comparison);
  EXPECT_EQ(first_of(sentences, 4),
            (std::vector<std::string>{"All variants output 1,000 tokens per second, within half a percent.",
                                      "TTFT is 300 ms at the 99th percentile with replicas=4 and 1.20 s with "
                                      "replicas=1, 4.00 times as long.",
                                      "Output per GPU is highest with replicas=1 (4 GPUs): 250 tokens per "
                                      "second, against 62.5 with replicas=4 (16 GPUs).",
                                      "replicas=2 has no preemptions; replicas=1 has 4."}));
  for (const std::string& sentence : sentences)
    EXPECT_EQ(sentence.find("as many requests at once"), std::string::npos) << sentence;
  const std::string text = comparison_text(comparison, 100, true);
  EXPECT_NE(text.find("Results per GPU\n              GPUs  out tok/s\n  replicas=1     4        250\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(comparison_text(comparison_of("eviction", {{"none", {}}, {"a", {}}}), 100, true).find("GPUs"),
            std::string::npos)
      << "as many everywhere";
}

TEST(Answer, TheFewestGpusThatMeetTheTargetsAreNamed) {
  const std::string enough = "at least 99 % of the requests meet all targets: ";
  const auto sentences = [](double one, double two, double four) {
    return answer_sentences(fleets_of({{1, {}, one}, {2, {}, two}, {4, {}, four}}));
  };
  EXPECT_EQ(first_of(sentences(0.5, 0.995, 1), 3),
            (std::vector<std::string>{
                "Goodput is 8.00 requests per second with replicas=4, 4.00 with replicas=1.",
                "replicas=2 takes the fewest GPUs with which " + enough + "8 (99.50 %).",
                "Goodput per GPU is highest with replicas=1 (4 GPUs): 1.00 requests per second, against "
                "0.500 with replicas=4 (16 GPUs)."}));
  EXPECT_EQ(sentences(0.5, 0.6, 0.9899)[1],
            "In no variant do 99 % of the requests meet all targets; the nearest is replicas=4 (16 GPUs): "
            "98.99 %.");
  EXPECT_EQ(sentences(0.99, 0.6, 1)[1],
            "replicas=1 takes the fewest GPUs with which " + enough + "4 (99.00 %).");
  // At different loads, numbers of devices cannot be compared.
  Comparison loads = fleets_of({{1, {}, 1}, {2, {}, 1}});
  auto settings = testing::small_settings();
  settings.push_back({"workload.rate_scale", "2", {}, 0});
  loads.variants[1].result->scenario = testing::scenario_of(settings);
  for (const std::string& sentence : answer_sentences(loads))
    EXPECT_EQ(sentence.find("fewest"), std::string::npos) << sentence;
}

TEST(Answer, TheFewestGpusForPercentilesAreNamed) {
  const auto sentences = [](double one, double two, std::optional<double> four) {
    Comparison fleets = fleets_of({{1, {}, -1}, {2, {}, -1}, {4, {}, -1}});
    const std::array<std::optional<double>, 3> had{one, two, four};
    for (std::size_t v = 0; v < had.size(); ++v) {
      RunResult& r = *fleets.variants[v].result;
      r.percentiles = {{.name = "ttft.p99", .need_s = 2, .have_s = had[v], .holds = had[v] && *had[v] <= 2},
                       {.name = "tpot.p50", .need_s = 0.05, .have_s = 0.01, .holds = true}};
      r.slo_met = *r.percentiles.front().holds;
    }
    return answer_sentences(fleets);
  };
  const auto has = [](const std::vector<std::string>& all, const std::string& sentence) {
    return std::find(all.begin(), all.end(), sentence) != all.end();
  };
  EXPECT_TRUE(has(sentences(9, 1.5, 1),
                  "replicas=2 takes the fewest GPUs with which TTFT p99 is at most 2.00 s, TPOT p50 is at "
                  "most 50.0 ms: 8 (TTFT p99 is 1.50 s, TPOT p50 is 10.0 ms)."));
  EXPECT_TRUE(has(sentences(9, 3, std::nullopt),
                  "In no variant do the targets hold (TTFT p99 is at most 2.00 s, TPOT p50 is at most 50.0 "
                  "ms); the nearest is replicas=2 (8 GPUs): TTFT p99 is 3.00 s, TPOT p50 is 10.0 ms."));
  EXPECT_TRUE(has(sentences(9, 2, 1),
                  "replicas=2 takes the fewest GPUs with which TTFT p99 is at most 2.00 s, TPOT p50 is at "
                  "most 50.0 ms: 8 (TTFT p99 is 2.00 s, TPOT p50 is 10.0 ms)."));
}

/// Four devices of one kind are not compared by number with two of another.
TEST(Answer, DevicesOfDifferentKindsAreNotCountedAgainstEachOther) {
  const auto sentences = [](double one, double two, double four) {
    Comparison fleets = fleets_of({{1, {}, one}, {2, {}, two}, {4, {}, four}});
    for (const std::size_t v : {std::size_t{1}, std::size_t{2}}) {
      auto settings = testing::small_settings();
      settings.push_back({"fleet.replicas", std::to_string(2 * v), {}, 0});
      settings.push_back({"deployment.device", "l40s", {}, 0});
      fleets.variants[v].result->scenario = testing::scenario_of(settings);
    }
    auto settings = testing::small_settings();
    settings.push_back({"deployment.device", "h100-sxm", {}, 0});
    fleets.variants[0].result->scenario = testing::scenario_of(settings);
    return answer_sentences(fleets);
  };
  const std::string each =
      "The fewest GPUs of each kind with which at least 99 % of the requests meet all targets: ";
  EXPECT_EQ(sentences(1, 0.5, 1)[1],
            each + "h100-sxm: 4 with replicas=1 (100.00 %); l40s: 16 with replicas=4 (100.00 %).");
  EXPECT_EQ(sentences(0.995, 0.5, 0.75)[1],
            each + "h100-sxm: 4 with replicas=1 (99.50 %); l40s: none (the nearest is replicas=4: 75.00 %).");
  EXPECT_EQ(sentences(1, 0.5, 1)[2],
            "Goodput per GPU is highest with replicas=1 (4 GPUs of kind h100-sxm): 2.00 requests per second, "
            "against 0.500 with replicas=2 (8 GPUs of kind l40s).");
  EXPECT_EQ(sentences(0.5, 0.6, 0.9)[1],
            "In no variant do 99 % of the requests meet all targets; the nearest is replicas=4 (16 GPUs of "
            "kind l40s): 90.00 %.");
}

TEST(Answer, ReplicasAreShortEachOfItsOwnMemory) {
  std::vector<runs::Setting> settings = testing::small_settings();
  settings[0].text = "4000";
  settings.push_back({"fleet.replicas", "3", {}, 0});
  const RunResult r = testing::result_of(settings, testing::small_trace(), 0);
  ASSERT_GT(r.memory->mean_fraction[index(State::kCached)], 0);
  EXPECT_EQ(runs::shortage_of(r), runs::Shortage::kNever) << "the largest request fits into what was idle";
  EXPECT_LE(runs::least_idle(r), runs::idle_at_peak(r) / 3);
  RunResult full = r;
  full.replicas[1].least_idle_bytes = r.details[1].layout.alloc_unit_bytes();
  EXPECT_EQ(runs::shortage_of(full), runs::Shortage::kUnknown);
  full.replicas[1].least_idle_bytes = 0;
  EXPECT_EQ(runs::shortage_of(full), runs::Shortage::kUnknown);
  // With one replica, its own peak is that of the run.
  settings.back().text = "1";
  const RunResult one = testing::result_of(settings, testing::small_trace(), 0);
  EXPECT_EQ(runs::least_idle(one), runs::idle_at_peak(one));
}

}  // namespace
}  // namespace kvplan::report
