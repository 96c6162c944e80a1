// Targets for percentiles: worked out by hand, and compared with sorted lists of the request records.
#include "simulator/scenario/percentile_targets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/base/random.h"
#include "tests/unit/study/millisecond_steps.h"

namespace kvplan::runs {
namespace {

using testing::apart;
using testing::kMs;
using testing::settings_with;
using testing::Texts;
using traces::testing::Outcome;
using traces::testing::run_kvplan;

RunResult run(const traces::Trace& trace, const std::string& percentiles, Texts more = {}) {
  more.emplace_back("targets.percentiles_s", percentiles);
  return testing::run(trace, more);
}

PercentileOutcome one(const RunResult& r) {
  EXPECT_EQ(r.percentiles.size(), 1U);
  return r.percentiles.empty() ? PercentileOutcome{} : r.percentiles.front();
}

PercentileOutcome outcome(std::string name, double need, std::optional<double> have,
                          std::optional<bool> holds) {
  return {.name = std::move(name), .need_s = need, .have_s = have, .holds = holds};
}

TEST(PercentileTargets, AreByNearestRank) {
  const traces::Trace trace = apart({3, 50, 4, 5});  // 3, 4, 5 and 50 ms
  EXPECT_EQ(one(run(trace, "e2e.p50=0.004")), outcome("e2e.p50", 0.004, 0.004, true)) << "exactly there";
  EXPECT_EQ(one(run(trace, "e2e.p50=0.0039")), outcome("e2e.p50", 0.0039, 0.004, false));
  EXPECT_EQ(one(run(trace, "e2e.p75=1")).have_s, 0.005) << "three of four";
  EXPECT_EQ(one(run(trace, "e2e.p75.000001=1")).have_s, 0.05) << "more than three";
  EXPECT_EQ(one(run(trace, "e2e.p0.01=1")).have_s, 0.003) << "the least is one";
  EXPECT_EQ(one(run(trace, "e2e.p100=1")).have_s, 0.05);
  EXPECT_EQ(one(run(trace, "ttft.p99=1")).have_s, 0.001);
  EXPECT_EQ(one(run(trace, "queue.p99=1")).have_s, 0.0);
  EXPECT_EQ(one(run(trace, "tpot.p99=1")).have_s, 0.001);
}

TEST(PercentileTargets, HoldTogetherAndWithTheShare) {
  const traces::Trace trace = apart({3, 50, 4, 5});
  const RunResult both = run(trace, "e2e.p75=0.01,ttft.p99=0.002");
  EXPECT_EQ(both.slo_met, true);
  EXPECT_EQ(percentile_ratio(both.percentiles), 0.5) << "5 of 10 ms, 1 of 2 ms";
  EXPECT_EQ(both.slo_met_fraction, std::nullopt) << "no target that a request meets or not";
  EXPECT_EQ(both.goodput_per_s, std::nullopt);
  const RunResult missed = run(trace, "e2e.p75=0.01,e2e.p99=0.02");
  EXPECT_EQ(missed.slo_met, false);
  EXPECT_EQ(percentile_ratio(missed.percentiles), 2.5);
  EXPECT_EQ(percentile_ratio(run(trace, "e2e.p50=1e-320").percentiles), std::nullopt);
  const auto with_share = [&](const char* fraction, const char* percentiles) {
    return run(trace, percentiles, {{"targets.e2e_s", "0.01"}, {"targets.fraction", fraction}}).slo_met;
  };
  EXPECT_EQ(with_share("0.75", "e2e.p75=0.01"), true);
  EXPECT_EQ(with_share("0.76", "e2e.p75=0.01"), false);
  EXPECT_EQ(with_share("0.75", "e2e.p76=0.01"), false);
}

TEST(PercentileTargets, AnIncompleteRequestIsSlowerThanAny) {
  const traces::Trace trace = apart({3, 50, 4, 5});
  const auto rejecting = [&](const std::string& percentiles) {
    return run(trace, percentiles, {{"engine.max_model_len", "20"}});
  };
  EXPECT_EQ(rejecting("ttft.p75=1").rejected, 1);
  EXPECT_EQ(one(rejecting("ttft.p75=1")), outcome("ttft.p75", 1, 0.001, true));
  const RunResult missed = rejecting("ttft.p76=1");
  EXPECT_EQ(one(missed), outcome("ttft.p76", 1, std::nullopt, false));
  EXPECT_EQ(missed.slo_met, false);
  EXPECT_EQ(percentile_ratio(missed.percentiles), std::nullopt);
  EXPECT_EQ(missed.ttft->p99, 0.001) << "of those that completed";
}

TEST(PercentileTargets, ARequestOfOneTokenHasNoTimePerToken) {
  EXPECT_EQ(one(run(apart({1, 1, 3}), "tpot.p50=0.0001")), outcome("tpot.p50", 0.0001, 0.001, false));
  const RunResult none = run(apart({1, 1}), "tpot.p50=0.0001");
  EXPECT_EQ(one(none), outcome("tpot.p50", 0.0001, std::nullopt, true));
  EXPECT_EQ(none.slo_met, true);
  EXPECT_EQ(percentile_ratio(none.percentiles), std::nullopt);
}

TEST(PercentileTargets, AreOfTheWindow) {
  const traces::Trace trace = apart({3, 50, 4, 5});  // at 0, 1, 2 and 3 s
  const auto within = [&](const char* from, const char* to) {
    return run(trace, "e2e.p100=0.01", {{"targets.from_s", from}, {"targets.to_s", to}});
  };
  EXPECT_EQ(one(within("0.5", "2.5")).have_s, 0.05);
  EXPECT_EQ(one(within("1.5", "9")).have_s, 0.005);
  const RunResult empty = within("0.25", "0.5");
  EXPECT_EQ(one(empty), outcome("e2e.p100", 0.01, std::nullopt, std::nullopt));
  EXPECT_EQ(empty.slo_met, std::nullopt);
}

/// The percentile of all values, found by sorting; infinite for a request that did not complete.
void expect_counted(const RunResult& r, LatencyKind kind, int percent, const PercentileOutcome& told) {
  std::vector<double> values;
  for (std::size_t i = 0; i < r.records.size(); ++i) {
    const observe::RequestRecord& each = r.records[i];
    if (!r.scenario.in_window(seconds(each.arrival.since_start))) continue;
    if (kind == LatencyKind::kTpot && r.output[i] == 1) continue;
    const bool done = each.status == observe::RequestStatus::kCompleted;
    double value = HUGE_VAL;
    if (done && kind == LatencyKind::kTtft) value = seconds(each.first_token - each.arrival);
    if (done && kind == LatencyKind::kE2e) value = seconds(each.finish - each.arrival);
    if (done && kind == LatencyKind::kQueue) value = seconds(each.first_scheduled - each.arrival);
    if (done && kind == LatencyKind::kTpot)
      value = seconds(each.finish - each.first_token) / (r.output[i] - 1);
    values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  ASSERT_FALSE(values.empty());
  std::size_t rank = 0;  // index of the smallest value that at least this many percent do not exceed
  while (100 * (rank + 1) < static_cast<std::size_t>(percent) * values.size()) ++rank;
  EXPECT_EQ(told.have_s, std::isfinite(values[rank]) ? std::optional(values[rank]) : std::nullopt)
      << told.name;
  EXPECT_EQ(told.holds, values[rank] <= told.need_s) << told.name;
}

TEST(PercentileTargets, AreThoseOfTheRecords) {
  const std::uint64_t seed = 20261124;
  Random random(seed);
  int held = 0, missed = 0, never = 0;
  for (int round = 0; round < 40; ++round) {
    std::string rows = "arrival_ns,input_tokens,output_tokens\n0,10,3\n";
    std::int64_t at = 0;
    for (int i = 0; i < 40; ++i) {
      at += static_cast<std::int64_t>(random.below(30)) * kMs;
      rows += std::to_string(at) + "," + std::to_string(1 + random.below(500)) + "," +
              std::to_string(1 + random.below(120)) + "\n";
    }
    const traces::Trace trace = traces::testing::import_text(rows).value();
    std::string text;
    std::vector<std::pair<LatencyKind, int>> asked;
    for (std::size_t kind = 0; kind < kLatencyNames.size(); ++kind) {
      const int percent = 1 + static_cast<int>(random.below(100));
      asked.emplace_back(static_cast<LatencyKind>(kind), percent);
      text += (text.empty() ? "" : ",") + std::string(kLatencyNames[kind]) + ".p" + std::to_string(percent) +
              "=0.0" + std::to_string(1 + random.below(9));
    }
    Texts more{{"engine.max_seqs", "5"}, {"engine.max_model_len", "550"}};
    if (round % 2 == 1) more.insert(more.end(), {{"targets.from_s", "0.1"}, {"targets.to_s", "0.4"}});
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    const RunResult r = run(trace, text, more);
    ASSERT_EQ(r.percentiles.size(), asked.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      expect_counted(r, asked[i].first, asked[i].second, r.percentiles[i]);
      ++(*r.percentiles[i].holds ? held : r.percentiles[i].have_s ? missed : never);
    }
  }
  EXPECT_GT(held, 10);
  EXPECT_GT(missed, 10);
  EXPECT_GT(never, 3);
}

/// A p90 target for one latency alone holds exactly if nine of ten requests are within the limit.
TEST(PercentileTargets, OneAloneIsAShare) {
  const std::string trace = report::testing::kMicroTrace;
  for (const char* seconds : {"0.01", "0.05", "0.1", "0.5", "2"}) {
    const std::string common = "run '" + trace + "' --set workload.limit=400 --set memory.pool_blocks=900 ";
    const Outcome share =
        run_kvplan(common + "--json - --set targets.ttft_s=" + seconds + " --set targets.fraction=0.9");
    const Outcome percentile =
        run_kvplan(common + "--json - --set targets.percentiles_s=ttft.p90=" + seconds);
    const auto met = [](const Outcome& told) {
      const std::size_t at = told.out.find("\"met\":");
      return told.out.substr(at, told.out.find('\n', at) - at);
    };
    EXPECT_EQ(met(share), met(percentile)) << seconds;
    EXPECT_NE(met(share), "\"met\": null");
  }
}

std::string error_of(const std::string& text) {
  const auto scenario = resolve(settings_with({{"targets.percentiles_s", text}}));
  return scenario.ok() ? "no error" : scenario.error().to_string();
}

TEST(PercentileTargets, WhatCannotBeIsOneLine) {
  EXPECT_EQ(error_of("ttft.p99=2,tpot.p50=0.05,e2e.p99.9=1e1,queue.p100=.5"), "no error");
  EXPECT_EQ(error_of("none"), "no error");
  const std::string path = "targets.percentiles_s: ";
  const std::string form = "expected LATENCY.pN=SECONDS such as ttft.p99=2, found ";
  EXPECT_EQ(error_of("2"), path + form + "\"2\"");
  EXPECT_EQ(error_of("ttft=2"), path + form + "\"ttft=2\"");
  EXPECT_EQ(error_of("ttft.99=2"), path + form + "\"ttft.99=2\"");
  EXPECT_EQ(error_of("ttft.p99"), path + form + "\"ttft.p99\"");
  EXPECT_EQ(error_of("ttft.p99=2,"), path + form + "nothing");
  EXPECT_EQ(error_of("ttft.p99=2,,e2e.p1=1"), path + form + "nothing");
  const std::string percent =
      "expected p and a percentage above 0, at most 100, such as p99 or p99.9, found ";
  for (const char* wrong : {"p0", "p100.1", "p101", "p-1", "p", "p1/2", "pmax"})
    EXPECT_EQ(error_of(std::string("ttft.") + wrong + "=2"), path + percent + "\"" + wrong + "\"");
  EXPECT_EQ(error_of("tttf.p99=2").find(path + "unknown latency \"tttf\""), 0U);
  EXPECT_NE(error_of("tttf.p99=2").find("ttft"), std::string::npos);
  for (const char* wrong : {"0", "-1", "1e10", "nan", "2s"})
    EXPECT_EQ(error_of(std::string("ttft.p99=") + wrong),
              path + "ttft.p99: expected a positive number of seconds, at most 1e9, found \"" + wrong + "\"");
  EXPECT_EQ(error_of("ttft.p99=2,ttft.p99.0=3"),
            path + "expected one target of ttft.p99, found a second, ttft.p99.0");
  const Outcome slip =
      run_kvplan("run '" KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt' --set targets.percentiles_s=ttft.p0=1");
  EXPECT_EQ(slip.exit_code, 2);
  EXPECT_EQ(slip.err.find('\n'), slip.err.size() - 1) << slip.err;
}

/// The text without its line breaks.
std::string flowing(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (const bool space = c == ' ' || c == '\n'; !space || (!out.empty() && out.back() != ' '))
      out += space ? ' ' : c;
  return out;
}

TEST(PercentileTargets, TheRunSaysWhatTheyNeedAndHave) {
  const std::string run = "run '" KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt' --set workload.limit=50 ";
  const Outcome held =
      run_kvplan(run + "--verbose --set targets.percentiles_s=ttft.p99=1000,queue.p99.9=500");
  EXPECT_EQ(held.exit_code, 0) << held.err;
  const std::string told = flowing(held.out);
  EXPECT_NE(told.find(" and has to be at most 1,000 s; queue p99.9 is "), std::string::npos) << held.out;
  EXPECT_NE(told.find(" and has to be at most 500 s: the targets hold."), std::string::npos) << held.out;
  EXPECT_NE(told.find(" TTFT p99 is at most 1,000 s yes it is "), std::string::npos) << held.out;
  const Outcome missed =
      run_kvplan(run + "--set targets.percentiles_s=ttft.p99=0.0625 --set targets.e2e_s=1000 --json -");
  EXPECT_EQ(missed.exit_code, 0) << missed.err;
  EXPECT_NE(flowing(missed.out).find("\"percentile\": \"ttft.p99\", \"need_s\": 0.0625, \"have_s\": 0."),
            std::string::npos)
      << missed.out;
  EXPECT_NE(missed.out.find("\"holds\": false"), std::string::npos);
  EXPECT_NE(missed.out.find("\"met_fraction\": 1"), std::string::npos) << missed.out;
  EXPECT_NE(run_kvplan("explain targets.percentiles_s").out.find("LATENCY.pN=SECONDS"), std::string::npos);
  const Outcome sides = run_kvplan("compare '" KVPLAN_SOURCE_DIR
                                   "/traces/samples/chat.kvt' --set workload.limit=200 --set "
                                   "targets.percentiles_s=ttft.p99=1000 --vary 'fleet.replicas=1;2'");
  EXPECT_NE(flowing(sides.out).find(
                "replicas=1 takes the fewest GPUs with which TTFT p99 is at most 1,000 s: 1 (TTFT p99 is "),
            std::string::npos)
      << sides.out;
  EXPECT_NE(sides.out.find("targets hold"), std::string::npos) << sides.out;
}

TEST(PercentileTargets, ASweepHasThemAsAFigure) {
  const traces::testing::TemporaryFolder folder;
  const std::string sweep =
      "sweep '" KVPLAN_SOURCE_DIR
      "/traces/samples/chat.kvt' --set workload.limit=100 --vary "
      "'targets.percentiles_s=ttft.p99=1000;ttft.p99=1e-6' --vary 'fleet.replicas=1;2' --out " +
      folder.file("s.db");
  const Outcome made = run_kvplan(sweep);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome front =
      run_kvplan("report " + folder.file("s.db") + " --pareto fits.percentile_ratio,gpus --pareto-csv -");
  EXPECT_EQ(front.exit_code, 0) << front.err;
  EXPECT_NE(front.out.find("ttft.p99=1000,1,"), std::string::npos) << front.out;
  EXPECT_EQ(front.out.find("1e-6"), std::string::npos) << front.out;
}

}  // namespace
}  // namespace kvplan::runs
