// The answer of a comparison: sentences compared with figures made by hand, facts with the reports, knees with their
// definition written as a loop.
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

using observe::State;
using runs::Comparison;
using runs::RunResult;

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
  EXPECT_EQ(told(500, 0), "refused memory (less than the request needed)");
  EXPECT_EQ(told(0, 500), "refused memory (enough for the request, but fragmented)");
  EXPECT_EQ(told(125, 375),
            "refused memory (25.00 % of it less than the request needed, 75.00 % fragmented)");
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
            "With no eviction, 30.0 % of the memory was reserved for tokens that never came; even so, memory "
            "was never short.");
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
  comparison.variants[1].result->scenario = testing::scenario_of({});
  EXPECT_EQ(comparison_warnings(comparison),
            std::vector<std::string>{
                "Step times come from different latency models (composed and roofline), because devices or "
                "models differ: set latency to compare only the varied paths."});
  comparison.variants[1].result->scenario = resolved("mi300x", nullptr);
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

}  // namespace
}  // namespace kvplan::report
