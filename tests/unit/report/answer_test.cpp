// The answer of a comparison: sentences against figures made by hand, facts against the reports beside them, knees
// against their definition written as a loop.
#include "simulator/report/answer.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>
#include <tuple>

#include "simulator/base/random.h"
#include "simulator/report/comparison.h"
#include "simulator/report/comparison_charts.h"
#include "simulator/report/markup.h"
#include "simulator/study/shortage.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/report/xml.h"
#include "tests/unit/traces/support.h"

namespace kvplan::report {
namespace {

using observe::State;
using runs::Comparison;
using runs::RunResult;
using runs::Variant;

/// A run of 1,000 requests that all completed, in 100 GiB of memory.
struct Made {
  double live{0.5};
  State loss{State::kInternal};
  double lost{0};
  double idle_at_peak{0.25};
  double mean_running{10};
  double tokens_per_s{1000};
  double ttft_p99{1};
  std::int64_t preemptions{0};
  std::int64_t rejected{0};
  std::string digest{"00"};
};

RunResult run_of(const Made& made) {
  RunResult r;
  r.scenario = testing::scenario_of(testing::small_settings());
  r.trace_digest = made.digest;
  r.arrived = 1000;
  r.rejected = made.rejected;
  r.completed = 1000 - made.rejected;
  r.input_tokens = 100 * r.completed;
  r.output_tokens = 200 * r.completed;
  r.preemptions = made.preemptions;
  r.mean_running = made.mean_running;
  r.max_running = 5;  // max_seqs is 6
  r.output_tokens_per_s = made.tokens_per_s;
  r.ttft = runs::LatencySummary{.p99 = made.ttft_p99};
  r.capacity_bytes = std::int64_t{100} << 30;
  runs::MemorySummary memory;
  memory.capacity_bytes = r.capacity_bytes;
  memory.timed = true;
  memory.mean_fraction[index(State::kLive)] = made.live;
  memory.mean_fraction[index(made.loss)] = made.lost;
  memory.peak_bytes[index(State::kFree)] =
      std::llround(made.idle_at_peak * static_cast<double>(r.capacity_bytes));
  r.memory = memory;
  r.replicas.resize(1);
  r.replicas[0].max_running = r.max_running;
  r.replicas[0].least_idle_bytes = memory.peak_bytes[index(State::kFree)];
  return r;
}

Comparison comparison_of(const std::string& path, const std::vector<std::pair<std::string, Made>>& made) {
  Comparison comparison{{{path, {}}}, {}};
  for (const auto& [value, one] : made) {
    comparison.varies[0].values.push_back(value);
    Variant variant;
    variant.varied = {{path, value}};
    variant.result = run_of(one);
    if (path == "memory.pool_tokens") variant.result->scenario.pool = {.tokens = std::stoll(value)};
    comparison.variants.push_back(std::move(variant));
  }
  return comparison;
}

TEST(Answer, SaysWhatTheIssueAsksFor) {
  const auto sentences = answer_sentences(comparison_of("memory.allocator", {{"contiguous:reserve=max",
                                                                              {.live = 0.204,
                                                                               .lost = 0.573,
                                                                               .idle_at_peak = 0,
                                                                               .mean_running = 10.5,
                                                                               .tokens_per_s = 200,
                                                                               .ttft_p99 = 90,
                                                                               .preemptions = 0}},
                                                                             {"paged",
                                                                              {.live = 0.963,
                                                                               .loss = State::kTail,
                                                                               .lost = 0.02,
                                                                               .mean_running = 30.45,
                                                                               .tokens_per_s = 400,
                                                                               .ttft_p99 = 0.9,
                                                                               .preemptions = 7}}}));
  // The first was never preempted and left nothing idle: that it was short does not show.
  EXPECT_EQ(sentences[0],
            "With contiguous:reserve=max, 57.3 % of the memory was reserved for tokens that never came; "
            "paged runs 2.90 times as many requests at once (30.4 against 10.5 on average); it does not show "
            "whether contiguous:reserve=max was short of memory.");
  EXPECT_EQ(sentences[1],
            "Output is 2.00 times as fast with paged as with contiguous:reserve=max: 400 against 200 tokens "
            "per second.");
  EXPECT_EQ(sentences[2],
            "TTFT is 900 ms at the 99th percentile with paged and 90.0 s with contiguous:reserve=max, 100 "
            "times as long.");
  EXPECT_EQ(sentences[3], "contiguous:reserve=max has no preemptions; paged has 7.");
  EXPECT_EQ(sentences[4],
            "variant 1, contiguous:reserve=max: 57.3 % of the memory was reserved for tokens that never came "
            "(internal fragmentation), 20.4 % held live tokens; 10.5 requests at once on average, at most 5; "
            "it does not show whether a request waited for memory.");
  EXPECT_EQ(
      sentences[5],
      "variant 2, paged: 2.0 % of the memory was unused in last blocks (internal fragmentation), 96.3 % held "
      "live tokens; 30.4 requests at once on average, at most 5; memory ran out: 7 preemptions.");
  ASSERT_EQ(sentences.size(), 6U);
}

TEST(Answer, WhatTheCacheBuysIsSaid) {
  auto comparison = comparison_of("memory.allocator",
                                  {{"no-cache", {.live = 0, .mean_running = 90, .tokens_per_s = 10}},
                                   {"buddy", {.idle_at_peak = 0, .mean_running = 4, .tokens_per_s = 200}},
                                   {"paged", {.mean_running = 8, .tokens_per_s = 400}}});
  RunResult& none = *comparison.variants[0].result;
  auto settings = testing::small_settings();
  settings.push_back(runs::parse_setting("memory.allocator=no-cache").value());
  std::erase_if(settings, [](const runs::Setting& s) { return s.path == "memory.pool_blocks"; });
  none.scenario = testing::scenario_of(settings);
  ASSERT_TRUE(none.scenario.keeps_nothing());
  none.computed_tokens = 90'000'000;
  none.tpot = runs::LatencySummary{.p50 = 3};
  for (const std::size_t v : {std::size_t{1}, std::size_t{2}}) {
    RunResult& r = *comparison.variants[v].result;
    r.computed_tokens = 300'000;
    r.tpot = runs::LatencySummary{.p50 = 0.02};
    r.memory->mean_bytes[index(State::kLive)] = 5.0 * (std::int64_t{1} << 30);
    r.memory->peak_bytes[index(State::kLive)] = std::int64_t{7} << 30;
  }
  const auto sentences = answer_sentences(comparison);
  const auto said = [&](const std::string& text) {
    return std::count_if(sentences.begin(), sentences.end(),
                         [&](const std::string& s) { return s.find(text) != std::string::npos; });
  };
  EXPECT_EQ(
      said("What the cache buys: no-cache computes 90,000,000 tokens where paged computes 300,000, 300 times "
           "as many, a token takes 150 times as long (3.00 s against 20.0 ms at the median), and the run "
           "40.0 times as long; it costs 5.00 GiB of keys and values on average, 7.00 GiB at the peak."),
      1);
  // That many run at once where none gets on is no merit.
  EXPECT_EQ(said("paged runs 2.00 times as many requests at once"), 1) << sentences[0];
  EXPECT_EQ(said("without a cache, all tokens were computed again in each step, 0.00 % held live tokens"), 1);
}

TEST(Answer, AShortageIsSaidWhereItIs) {
  auto comparison = comparison_of(
      "memory.allocator", {{"buddy", {.lost = 0.4, .mean_running = 4}}, {"paged", {.mean_running = 12}}});
  comparison.variants[0].result->memory->mean_fraction[index(State::kStranded)] = 0.1;
  EXPECT_EQ(answer_sentences(comparison)[0],
            "With buddy, 40.0 % of the memory was reserved for tokens that never came; paged would run 3.00 "
            "times as many requests at once (12.0 against 4.00 on average).");
  // The largest loss decides the words.
  comparison.variants[0].result->memory->mean_fraction[index(State::kStranded)] = 0.5;
  EXPECT_EQ(
      answer_sentences(comparison)[0].find(
          "With buddy, 50.0 % of the memory was idle while a request was refused memory; paged would run"),
      0U);
  // And how it was stranded.
  auto& memory = *comparison.variants[0].result->memory;
  memory.mean_bytes[index(State::kStranded)] = 500;
  const auto told = [&](double too_short, double fragmented) {
    memory.mean_overlay_bytes[index(observe::Overlay::kStrandedTooShort)] = too_short;
    memory.mean_overlay_bytes[index(observe::Overlay::kStrandedFragmented)] = fragmented;
    const std::string sentence = answer_sentences(comparison)[0];
    return sentence.substr(sentence.find("refused"), sentence.find(';') - sentence.find("refused"));
  };
  EXPECT_EQ(told(500, 0), "refused memory (too little for the request)");
  EXPECT_EQ(told(0, 500), "refused memory (enough for the request, but fragmented)");
  EXPECT_EQ(told(125, 375), "refused memory (25.00 % of it too little for the request, 75.00 % fragmented)");
}

TEST(Answer, ThoseThatTieWithTheBestAreCounted) {
  const auto sentences = answer_sentences(
      comparison_of("eviction", {{"none", {.mean_running = 5, .tokens_per_s = 100, .preemptions = 2}},
                                 {"a", {.mean_running = 9.98, .tokens_per_s = 300}},
                                 {"b", {.mean_running = 10, .tokens_per_s = 301}},
                                 {"c", {.mean_running = 10.2, .tokens_per_s = 280, .preemptions = 1}}}));
  EXPECT_EQ(sentences[0], "c would run 2.04 times as many requests at once (10.2 against 5.00 on average).");
  EXPECT_EQ(sentences[1],
            "Output is 3.00 times as fast with a (and 1 other within half a percent) as with no eviction: "
            "300 against 100 tokens per second.");
  EXPECT_EQ(sentences[3], "a has no preemptions; no eviction has 2.");
  // Never short, and yet fewer run: memory is not why.
  const auto never = answer_sentences(comparison_of(
      "eviction", {{"none", {.mean_running = 5}}, {"a", {.mean_running = 10, .preemptions = 2}}}));
  EXPECT_EQ(never[0], "All variants output 1,000 tokens per second, within half a percent.");
  const auto lost =
      answer_sentences(comparison_of("eviction", {{"none", {.lost = 0.3, .mean_running = 5}},
                                                  {"a", {.mean_running = 10, .preemptions = 2}}}));
  EXPECT_EQ(lost[0],
            "With no eviction, 30.0 % of the memory was reserved for tokens that never came; memory was "
            "never short all the same.");
  const auto slower = answer_sentences(
      comparison_of("eviction", {{"none", {.mean_running = 5, .tokens_per_s = 100, .preemptions = 1}},
                                 {"a", {.mean_running = 10, .tokens_per_s = 80, .preemptions = 1}}}));
  EXPECT_EQ(slower[0],
            "Output is 1.25 times as fast with no eviction as with a: 100 against 80.0 tokens per second.");
  // The first has all that it can use: it is compared with a variant that was short of memory.
  const auto first = answer_sentences(comparison_of(
      "eviction", {{"none", {.mean_running = 10}},
                   {"a", {.mean_running = 10.4}},
                   {"b", {.lost = 0.5, .mean_running = 5, .tokens_per_s = 400, .preemptions = 2}}}));
  EXPECT_EQ(first[0],
            "With b, 50.0 % of the memory was reserved for tokens that never came; no eviction would run "
            "2.00 times as many requests at once (10.0 against 5.00 on average).");
}

TEST(Answer, MemoryThatIsNeverShortIsNotTheLimit) {
  const auto sentences = answer_sentences(
      comparison_of("memory.allocator.block_tokens",
                    {{"16", {.idle_at_peak = 0.5}}, {"64", {.lost = 0.004, .idle_at_peak = 0.25}}}));
  EXPECT_EQ(sentences[0],
            "Memory is not the limit: no request waits for it, none is preempted, and even at its fullest "
            "(with blocks of 64 tokens) 25.0 % of it is idle.");
  EXPECT_EQ(sentences[1], "All variants output 1,000 tokens per second, within half a percent.");
  EXPECT_EQ(sentences[2], "TTFT is the same in all variants: 1.00 s at the 99th percentile.");
  EXPECT_EQ(sentences[4],
            "block_tokens=64: reservation and fragmentation took at most 0.40 % of the memory each, 50.0 % "
            "held live tokens; 10.0 requests at once on average, at most 5; memory was never short.");
  EXPECT_EQ(sentences.size(), 5U);
}

TEST(Answer, TheFirstIsHeldAgainstTheWorstWhereItIsTheBest) {
  const auto sentences =
      answer_sentences(comparison_of("eviction", {{"none", {.tokens_per_s = 400, .preemptions = 3}},
                                                  {"a", {.tokens_per_s = 200, .preemptions = 9}},
                                                  {"b", {.tokens_per_s = 100, .preemptions = 3}}}));
  EXPECT_EQ(sentences[0], "Equally many requests run at once, on average, with all 3 (10.0).");
  EXPECT_EQ(sentences[1],
            "Output is 4.00 times as fast with no eviction as with b: 400 against 100 tokens per second.");
  EXPECT_EQ(sentences[3], "No eviction has 3 preemptions; a has 9.");
}

TEST(Answer, OtherWorkIsNotPutIntoRelation) {
  const Comparison comparison =
      comparison_of("engine.max_model_len", {{"100", {.preemptions = 1}},
                                             {"200", {.tokens_per_s = 9e9, .rejected = 100}},
                                             {"300", {.tokens_per_s = 9e9, .digest = "01"}},
                                             {"400", {.tokens_per_s = 500, .preemptions = 2}},
                                             {"500", {.rejected = 1000}}});
  const auto sentences = answer_sentences(comparison);
  const std::vector<std::string> head(sentences.begin(), sentences.begin() + 7);
  EXPECT_EQ(
      head,
      (std::vector<std::string>{
          "Equally many requests run at once, on average, with both (10.0).",
          "Output is 2.00 times as fast with max_model_len=100 as with max_model_len=400: 1,000 against 500 "
          "tokens per second.",
          "TTFT is the same in all variants: 1.00 s at the 99th percentile.",
          "max_model_len=100 has 1 preemption; max_model_len=400 has 2.",
          "max_model_len=200 is left out of the ratios: it completed 900 of 1,000 requests, 100 rejected; "
          "max_model_len=100 completed 1,000 of 1,000 requests.",
          "max_model_len=300 was given other requests than max_model_len=100, so the two are not compared.",
          "max_model_len=500 rejected every request on arrival."}));
  std::size_t ratios = 0;
  for (const runs::Fact& fact : runs::facts_of(comparison)) {
    if (!fact.ratio) continue;
    ++ratios;
    EXPECT_EQ(fact.variant, 3U) << fact.metric;
  }
  EXPECT_EQ(ratios, 9U) << "live, running twice, completed, tokens, TTFT, preemptions, GPUs, tokens of each; "
                           "what is 0 has no ratio";
}

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
  // The slowest fleet has most requests at once, all are as far through.
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
  // At other loads a number of devices says nothing.
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

/// Four of one kind are not more than two of another.
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
  // One replica's own peak is that of the run.
  settings.back().text = "1";
  const RunResult one = testing::result_of(settings, testing::small_trace(), 0);
  EXPECT_EQ(runs::least_idle(one), runs::idle_at_peak(one));
}

TEST(Answer, NotesNameTheirVariants) {
  auto comparison = comparison_of("seed", {{"1", {}}, {"2", {}}, {"3", {}}, {"4", {}}, {"5", {}}, {"6", {}}});
  for (std::size_t v = 0; v < 6; ++v) {
    RunResult& r = *comparison.variants[v].result;
    r.warnings = {"All."};
    if (v < 2) r.warnings.emplace_back("Two.");
    if (v != 3) r.warnings.emplace_back("Not the fourth.");
    r.assumptions = {v == 5 ? "Six." : "Others."};
  }
  comparison.variants[4].result.reset();
  comparison.variants[4].error = bad_input("no");
  EXPECT_EQ(comparison_warnings(comparison),
            (std::vector<std::string>{"could not run: seed=5: no", "All.", "seed=1 and seed=2: Two.",
                                      "all but seed=4: Not the fourth."}));
  const std::string text = comparison_text(comparison, 100, true);
  EXPECT_NE(text.find("  seed=6: Six.\n"), std::string::npos);
  EXPECT_NE(text.find("  all but seed=6: Others.\n"), std::string::npos);
}

TEST(Answer, SaysWhereStepTimesAreMadeInDifferentWays) {
  auto comparison = comparison_of("deployment.device", {{"h100-sxm", {}}, {"mi300x", {}}});
  const auto resolved = [](const char* device, const char* latency) {
    std::vector<runs::Setting> settings{{"deployment.device", device, {}, 0}};
    if (latency != nullptr) settings.push_back({"latency", latency, {}, 0});
    return testing::scenario_of(settings);
  };
  comparison.variants[0].result->scenario = resolved("h100-sxm", nullptr);
  comparison.variants[1].result->scenario = resolved("mi300x", nullptr);
  EXPECT_EQ(comparison_warnings(comparison),
            std::vector<std::string>{
                "Step times come from different latency models (composed and roofline), because devices or "
                "models differ: set latency to compare only the varied paths."});
  comparison.variants[1].result->scenario = resolved("a100-sxm-80", nullptr);
  EXPECT_TRUE(comparison_warnings(comparison).empty());
  comparison.variants[0].result->scenario = resolved("h100-sxm", "composed");
  comparison.variants[1].result->scenario = resolved("mi300x", "roofline");
  EXPECT_TRUE(comparison_warnings(comparison).empty()) << "it was asked for";
}

TEST(Answer, ThoseThatCouldNotRunAreCounted) {
  auto comparison = comparison_of("eviction", {{"none", {}}, {"a", {}}, {"b", {}}});
  comparison.variants[1].result.reset();
  comparison.variants[1].error = bad_input("no");
  EXPECT_EQ(answer_sentences(comparison).back(), "1 variant could not run and is not in this answer.");
}

TEST(Answer, ManyVariantsAreNotAllDescribed) {
  std::vector<std::pair<std::string, Made>> made;
  for (int i = 0; i < 40; ++i)
    made.emplace_back(std::to_string(i), Made{.lost = 0.1, .tokens_per_s = 100.0 + i, .preemptions = 1});
  const auto sentences = answer_sentences(comparison_of("seed", made));
  EXPECT_LT(sentences.size(), 10U);
  EXPECT_NE(sentences[1].find("seed=39"), std::string::npos) << sentences[1];
}

TEST(Answer, FactsAreTheFiguresOfTheReportsBesideThem) {
  std::vector<runs::Vary> varies{runs::parse_vary("memory.pool_blocks=40;60;4000").value(),
                                 runs::parse_vary("engine.max_seqs=2;6").value()};
  runs::Inputs inputs(testing::small_inputs());
  const auto result = runs::compare(testing::small_settings(), varies, inputs, {});
  ASSERT_TRUE(result.ok());
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  const simdjson::padded_string text(comparison_json(result.value()));
  ASSERT_EQ(parser.parse(text).get(root), simdjson::SUCCESS);
  const std::map<std::string, std::string> places{{"live_fraction", "/memory/mean_fraction/live"},
                                                  {"internal_fraction", "/memory/mean_fraction/internal"},
                                                  {"reserved_fraction", "/memory/mean_fraction/reserved"},
                                                  {"stranded_fraction", "/memory/mean_fraction/stranded"},
                                                  {"tail_fraction", "/memory/mean_fraction/tail"},
                                                  {"hole_fraction", "/memory/mean_fraction/hole"},
                                                  {"padding_fraction", "/memory/mean_fraction/padding"},
                                                  {"mean_running", "/batch/mean_running"},
                                                  {"max_running", "/batch/max_running"},
                                                  {"completed", "/requests/completed"},
                                                  {"output_tokens_per_s", "/throughput/output_tokens_per_s"},
                                                  {"ttft_p99_s", "/latency_s/ttft/p99"},
                                                  {"tpot_p50_s", "/latency_s/tpot/p50"},
                                                  {"preemptions", "/preemptions"},
                                                  {"computed_tokens", "/tokens/computed"},
                                                  {"goodput_per_s", "/slo/goodput_per_s"}};
  const auto figure = [&](std::string_view variant, const std::string& metric) {
    for (const simdjson::dom::element one : root["variants"]) {
      if (std::string_view(one["name"]) != variant) continue;
      if (metric == "gpus") return double(std::int64_t(one["gpus"]));
      const std::size_t each = metric.find("_per_gpu");
      const double figure_of_all = double(one.at_pointer(places.at(metric.substr(0, each))));
      return each == std::string::npos ? figure_of_all : figure_of_all / double(std::int64_t(one["gpus"]));
    }
    ADD_FAILURE() << variant;
    return 0.0;
  };
  std::size_t facts = 0;
  std::size_t ratios = 0;
  for (const simdjson::dom::element fact : root["answer"]["facts"]) {
    const std::string metric{std::string_view(fact["metric"])};
    if (metric.rfind("knee_of_", 0) == 0) continue;
    ++facts;
    const double value = figure(fact["variant"], metric);
    EXPECT_EQ(double(fact["value"]), value) << metric;
    if (fact["ratio"].is_null()) continue;
    ++ratios;
    EXPECT_EQ(double(fact["ratio"]), value / figure(fact["versus"], metric)) << metric;
  }
  EXPECT_EQ(facts, 6 * runs::answer_metrics().size());
  // The larger pools complete one request more, so that only the other batch of the smallest is the same work.
  EXPECT_GT(ratios, 5U);
  std::vector<std::string> sentences;
  for (const simdjson::dom::element one : root["answer"]["sentences"])
    sentences.emplace_back(std::string_view(one));
  EXPECT_EQ(sentences, answer_sentences(result.value()));
  const std::string shown = comparison_text(result.value(), 1000, true);
  const std::string page = testing::parse_xml(comparison_html(result.value(), "x")).all_text();
  for (const std::string& sentence : sentences) {
    EXPECT_NE(shown.find("  " + sentence + "\n"), std::string::npos) << sentence;
    EXPECT_NE(page.find(sentence), std::string::npos) << sentence;
  }
}

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
      // Values that are no borders of 5 %.
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
          "The knee of a figure is the smallest pool tried from which on it is within 5 % of what the "
          "largest pool gives (preemptions: from which on there are none), with the same requests completed.",
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
