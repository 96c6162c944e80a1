// Latency targets: the share of requests that must meet them, and the window of arrivals that counts; worked out by
// hand, and compared with counts over the records.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/base/random.h"
#include "tests/unit/study/millisecond_steps.h"

namespace kvplan::runs {
namespace {

using traces::testing::Outcome;
using traces::testing::run_kvplan;

using testing::apart;
using testing::kMs;
using testing::run;
using testing::settings_with;
using testing::Texts;

std::string error_of(const Texts& more) {
  const auto scenario = resolve(settings_with(more));
  return scenario.ok() ? "no error" : scenario.error().to_string();
}

TEST(Targets, HoldWhereTheShareIsReachedExactly) {
  const traces::Trace trace = apart({3, 50, 4, 5});  // three of four within 6 ms
  const auto holds = [&](const std::string& fraction) {
    return *run(trace, {{"targets.e2e_s", "0.006"}, {"targets.fraction", fraction}}).slo_met;
  };
  EXPECT_TRUE(holds("0.75"));
  EXPECT_TRUE(holds("3/4"));
  EXPECT_TRUE(holds("0.5"));
  EXPECT_FALSE(holds("0.750000001"));
  EXPECT_FALSE(holds("1"));
  EXPECT_FALSE(*run(trace, {{"targets.e2e_s", "0.006"}}).slo_met) << "0.99 by itself";
  EXPECT_TRUE(*run(apart({3, 4}), {{"targets.e2e_s", "0.006"}, {"targets.fraction", "1"}}).slo_met);
  EXPECT_FALSE(run(trace, {{"targets.fraction", "0.5"}}).slo_met.has_value()) << "no targets";
}

TEST(Targets, AFractionIsAboveZeroAndAtMostOne) {
  EXPECT_EQ(error_of({{"targets.fraction", "1"}}), "no error");
  EXPECT_EQ(error_of({{"targets.fraction", "1.01"}}),
            "targets.fraction: expected a fraction above 0, at most 1, found \"1.01\"");
  EXPECT_EQ(error_of({{"targets.fraction", "4/3"}}),
            "targets.fraction: expected a fraction above 0, at most 1, found \"4/3\"");
  EXPECT_EQ(error_of({{"targets.fraction", "0"}}).substr(0, 17), "targets.fraction:");
  EXPECT_EQ(error_of({{"targets.fraction", "-1"}}).substr(0, 17), "targets.fraction:");
  EXPECT_EQ(error_of({{"targets.from_s", "5"}, {"targets.to_s", "5"}}),
            "targets.to_s: expected a time after targets.from_s (5), found 5");
}

/// Counts again, from the records.
void expect_counted(const RunResult& r, double from, double to) {
  std::int64_t asked = 0, met = 0;
  std::vector<double> waits;
  for (const observe::RequestRecord& each : r.records) {
    const double arrival = seconds(each.arrival.since_start);
    if (arrival < from || arrival >= to) continue;
    ++asked;
    if (each.status != observe::RequestStatus::kCompleted) continue;
    waits.push_back(seconds(each.first_token - each.arrival));
    met += waits.back() <= 0.02 && seconds(each.finish - each.arrival) <= 0.2 ? 1 : 0;
  }
  ASSERT_EQ(r.slo_met_fraction.has_value(), asked > 0);
  ASSERT_EQ(r.ttft.has_value(), !waits.empty());
  if (!waits.empty()) {
    EXPECT_EQ(r.ttft->max, *std::max_element(waits.begin(), waits.end()));
  }
  if (asked == 0) return;
  EXPECT_EQ(*r.slo_met_fraction, static_cast<double>(met) / static_cast<double>(asked));
  EXPECT_EQ(*r.slo_met, 10 * met >= 9 * asked);
  const double span = std::min(to, seconds(r.makespan)) - from;
  ASSERT_EQ(r.goodput_per_s.has_value(), span > 0);
  if (span > 0) {
    EXPECT_DOUBLE_EQ(*r.goodput_per_s, static_cast<double>(met) / span);
  }
}

TEST(Targets, OnlyArrivalsOfTheWindowCount) {
  const std::uint64_t seed = 20261123;
  Random random(seed);
  for (int round = 0; round < 40; ++round) {
    std::string rows = "arrival_ns,input_tokens,output_tokens\n0,10,3\n";
    std::int64_t at = 0;
    for (int i = 0; i < 40; ++i) {
      at += static_cast<std::int64_t>(random.below(30)) * kMs;
      rows += std::to_string(at) + "," + std::to_string(1 + random.below(500)) + "," +
              std::to_string(1 + random.below(120)) + "\n";
    }
    const traces::Trace trace = traces::testing::import_text(rows).value();
    const std::vector<std::pair<std::string, std::string>> common{{"engine.max_seqs", "5"},
                                                                  {"targets.ttft_s", "0.02"},
                                                                  {"targets.e2e_s", "0.2"},
                                                                  {"targets.fraction", "0.9"}};
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    expect_counted(run(trace, common), 0, 1e9);
    auto window = common;
    window.emplace_back("targets.from_s", "0.1");
    expect_counted(run(trace, window), 0.1, 1e9);
    window.emplace_back("targets.to_s", "0.4");
    const RunResult r = run(trace, window);
    expect_counted(r, 0.1, 0.4);
    EXPECT_EQ(r.arrived, run(trace, common).arrived) << "all else is of all requests";
  }
}

TEST(Targets, TheWindowIsHalfOpenAndMayBeEmpty) {
  const traces::Trace trace = apart({3, 50, 4, 5});  // at 0, 1, 2 and 3 s
  const auto fraction = [&](const char* from, const char* to) {
    return run(trace, {{"targets.e2e_s", "0.006"}, {"targets.from_s", from}, {"targets.to_s", to}})
        .slo_met_fraction;
  };
  EXPECT_EQ(fraction("1", "2"), 0.0);
  EXPECT_EQ(fraction("1", "2.5"), 0.5);
  EXPECT_EQ(fraction("1.5", "3"), 1.0);
  EXPECT_EQ(fraction("1.25", "1.5"), std::nullopt);
}

TEST(Targets, TheRunSaysWhetherTheyHold) {
  const std::string trace = KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt";
  const auto said = [&](const std::string& more) {
    const Outcome outcome = run_kvplan("run '" + trace + "' --set workload.limit=50 " + more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_NE(said("--set targets.e2e_s=100000").find("and at least 99 % have to: the targets hold."),
            std::string::npos);
  EXPECT_NE(said("--set targets.e2e_s=0.000001 --set targets.fraction=0.995")
                .find("and at least 99.5 % have to: the targets do not hold."),
            std::string::npos);
  EXPECT_NE(run_kvplan("explain targets.fraction").out.find("above 0, at most 1"), std::string::npos);
}

}  // namespace
}  // namespace kvplan::runs
