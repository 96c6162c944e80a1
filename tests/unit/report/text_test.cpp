// Numbers as text, tables and bars, and the sentences of a report.
#include <gtest/gtest.h>

#include "simulator/report/number_text.h"
#include "simulator/report/overview.h"
#include "simulator/report/text.h"
#include "tests/unit/report/cases.h"

namespace kvplan::report {
namespace {

using observe::State;
using testing::result_of;
using testing::small_settings;
using testing::small_trace;

TEST(NumberText, GroupsAndRoundsAsPeopleWrite) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(grouped(INT64_MIN), "-9,223,372,036,854,775,808");
  EXPECT_EQ(fixed(1234.5, 2), "1,234.50");
  EXPECT_EQ(rounded(0), "0");
  EXPECT_EQ(rounded(1.234), "1.23");
  EXPECT_EQ(rounded(9.994), "9.99");
  EXPECT_EQ(rounded(9.996), "10.0");
  EXPECT_EQ(rounded(99.96), "100");
  EXPECT_EQ(rounded(123.4), "123");
  EXPECT_EQ(rounded(0.01234), "0.0123");
  EXPECT_EQ(rounded(1234.6), "1,235");
  EXPECT_EQ(percent(0), "0.00 %");
  EXPECT_EQ(percent(0.00001), "<0.01 %");
  EXPECT_EQ(percent(0.12345), "12.35 %");
  EXPECT_EQ(percent(1), "100.00 %");
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1,023 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(51539607552.0), "48.0 GiB");
  EXPECT_EQ(seconds_text(0), "0 s");
  EXPECT_EQ(seconds_text(0.0000123), "12.3 µs");
  EXPECT_EQ(seconds_text(0.0123), "12.3 ms");
  EXPECT_EQ(seconds_text(0.9996), "1.00 s");
  EXPECT_EQ(seconds_text(3501.2), "3,501 s");
}

TEST(NumberText, ShellWordsAreQuotedWhereTheyMust) {
  EXPECT_EQ(shell_quoted("a/b-c_1.csv"), "a/b-c_1.csv");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted("a;$(b)"), "'a;$(b)'");
}

TEST(ReportText, BarsAreEighthsAndNothingIsInvisible) {
  EXPECT_EQ(bar_text(0, 10), "");
  EXPECT_EQ(bar_text(1e-9, 10), "▏");
  EXPECT_EQ(bar_text(0.5, 4), "██");
  EXPECT_EQ(bar_text(1, 3), "███");
  EXPECT_EQ(bar_text(2, 3), "███");
  EXPECT_EQ(bar_text(0.3125, 2), "▋");  // 5 of 16 eighths
}

TEST(ReportText, LinesWrapAtSpaces) {
  EXPECT_EQ(wrapped("one two three", 7, "  "), "one two\n  three");
  EXPECT_EQ(wrapped("averyverylongword b", 5, ""), "averyverylongword\nb");
  EXPECT_EQ(wrapped("", 5, "  "), "");
}

TEST(ReportText, TablesAlignByCharactersNotBytes) {
  const Table table{
      .title = "T",
      .columns = {"a", "µ"},
      .rows = {{.label = "x", .cells = {"1", "2 µs"}}, {.label = "long", .cells = {"10", "3 s"}}}};
  EXPECT_EQ(table_text(table, 80),
            "T\n"
            "         a     µ\n"
            "  x      1  2 µs\n"
            "  long  10   3 s\n");
}

TEST(ReportText, LongCellsBreakBehindCommasAndSpaces) {
  const Table table{.title = "T",
                    .columns = {"", ""},
                    .rows = {{.label = "x", .cells = {"given", "name:aaaaaaaa=1,bbbbbbbb=2,c=3"}},
                             {.label = "y", .cells = {"-", "one two three four five six"}}},
                    .numbers = false};
  EXPECT_EQ(table_text(table, 34),
            "T\n"
            "  x  given  name:aaaaaaaa=1,\n"
            "            bbbbbbbb=2,c=3\n"
            "  y  -      one two three four\n"
            "            five six\n");
}

TEST(ReportText, NamesFromFilesAreHarmless) {
  const Table table{
      .title = "a\x1b[31m", .columns = {""}, .rows = {{.label = "b\n", .cells = {"\x7f"}}}, .numbers = false};
  EXPECT_EQ(table_text(table, 80), "a\\x1B[31m\n  b\\x0A  \\x7F\n");
  EXPECT_EQ(wrapped("a\rb c", 80, ""), "a\\x0Db c");
}

TEST(ReportText, WhatWaitsInASaturatedRunIsNoLatency) {
  runs::RunResult result = result_of(small_settings(), small_trace(), 0);
  const auto shown = [&] { return content_text(run_content(result), 100); };
  const auto line_of = [&](const std::string& label) {
    const std::string text = shown();
    const std::size_t at = text.find("\n  " + label);
    return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  };
  for (const bool saturated : {false, true}) {
    result.saturation.emplace().saturated = saturated;
    EXPECT_EQ(shown().find("grow with the length of the trace, and are left out") != std::string::npos,
              saturated);
    const auto has_numbers = [&](const char* label) {
      return line_of(label).substr(20).find_first_of("0123456789") != std::string::npos;
    };
    for (const char* label : {"queue", "whole (E2E)"})  // the first token has a target
      EXPECT_EQ(has_numbers(label), !saturated) << line_of(label);
    EXPECT_TRUE(has_numbers("per token (TPOT)"));
  }
}

TEST(ReportText, SaysEveryNumberOfTheResult) {
  runs::RunResult result = result_of(small_settings(), small_trace(), 0);
  ASSERT_GT(result.preemptions, 0);
  ASSERT_EQ(result.rejected, 1);
  result.saturation->saturated = false;  // otherwise latencies that include waiting are left out
  const std::string text = content_text(run_content(result), 100);
  const auto says = [&](const std::string& label, const std::string& value) {
    std::size_t at = text.find("\n  " + label);
    ASSERT_NE(at, std::string::npos) << label;
    const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    EXPECT_NE(line.find(value), std::string::npos) << line << " lacks " << value;
  };
  says("arrived", grouped(result.arrived));
  says("completed", grouped(result.completed));
  says("rejected", "1");
  says("preemptions", grouped(result.preemptions));
  says("computed tokens", grouped(result.computed_tokens));
  says("first token (TTFT)", seconds_text(result.ttft->p99));
  says("whole (E2E)", seconds_text(result.e2e->mean));
  says("output tokens per second", rounded(*result.output_tokens_per_s));
  says("requests that met the targets", percent(*result.slo_met_fraction));
  for (std::size_t s = 0; s < observe::kStates; ++s) {
    const std::string label(observe::kStateNames[s]);
    says(label, percent(result.memory->mean_fraction[s]));
    says(label, bytes_text(static_cast<double>(result.memory->peak_bytes[s])));
  }
  // Given settings are distinguished from others.
  says("memory.pool_blocks", "given");
  says("model", "default");
  EXPECT_EQ(text.find("memory.pool_bytes"), std::string::npos);
}

bool any_has(const std::vector<std::string>& sentences, const std::string& part) {
  for (const std::string& sentence : sentences)
    if (sentence.find(part) != std::string::npos) return true;
  return false;
}

TEST(ReportText, SentencesFollowFromTheNumbers) {
  const runs::RunResult tight = result_of(small_settings(), small_trace(), 0);
  EXPECT_TRUE(any_has(meaning_of(tight), "Memory limits: " + grouped(tight.preemptions) + " preemption"));
  EXPECT_TRUE(any_has(verdict_of(tight), "One request was rejected"));

  auto settings = small_settings();
  settings.push_back({"memory.pool_blocks", "4000", {}, 0});
  settings.push_back({"engine.max_seqs", "2", {}, 0});
  const runs::RunResult full = result_of(settings, small_trace(), 0);
  ASSERT_EQ(full.preemptions, 0);
  EXPECT_TRUE(
      any_has(meaning_of(full), "Running slots are the limit, not memory: a batch reached max_seqs (2)"));
  // The trace has no prefixes, so only preempted requests get hits.
  EXPECT_TRUE(any_has(full.assumptions, "does not say which prompts share prefixes"));
  EXPECT_TRUE(any_has(meaning_of(full), "is idle: it holds cached blocks that no request hit again"));
  ASSERT_GT(tight.rehit_tokens, 0);
  EXPECT_TRUE(any_has(meaning_of(tight), "is idle but may be hit again"));

  settings.push_back({"engine.max_seqs", "200", {}, 0});
  EXPECT_TRUE(
      any_has(meaning_of(result_of(settings, small_trace(), 0)), "Neither memory nor running slots ran out"));

  // Two at once, in a pool that has no room for a third request: with cached blocks, a refusal may not be
  // visible.
  settings.push_back({"engine.max_seqs", "2", {}, 0});
  settings.push_back({"memory.pool_blocks", "34", {}, 0});
  const runs::RunResult close = result_of(settings, small_trace(), 0);
  ASSERT_EQ(close.preemptions, 0);
  ASSERT_EQ(close.memory->mean_fraction[index(State::kStranded)], 0);
  EXPECT_TRUE(any_has(meaning_of(close), "an admission may have waited for memory"));
  settings.push_back({"engine.prefix_cache", "false", {}, 0});
  EXPECT_FALSE(any_has(meaning_of(result_of(settings, small_trace(), 0)), "may have waited"));
  settings.push_back({"engine.prefix_cache", "true", {}, 0});

  // The largest part of the waste: reservations for the longest request that is allowed.
  settings.push_back({"memory.pool_tokens", "200000", {}, 0});
  settings.push_back({"memory.pool_blocks", "none", {}, 0});
  settings.push_back({"memory.allocator", "contiguous:reserve=max", {}, 0});
  settings.push_back({"engine.max_model_len", "6000", {}, 0});
  const runs::RunResult whole = result_of(settings, small_trace(), 0);
  EXPECT_TRUE(any_has(meaning_of(whole),
                      "mostly internal (" + percent(whole.memory->mean_fraction[index(State::kInternal)])));

  settings.push_back({"workload.limit", "0", {}, 0});
  EXPECT_TRUE(meaning_of(result_of(settings, small_trace(), 0)).empty());
  const auto nothing = verdict_of(result_of(settings, small_trace(), 0));
  ASSERT_EQ(nothing.size(), 1U);
  EXPECT_TRUE(any_has(nothing, "No request arrived"));
}

TEST(Overview, BeginsWithTheVerdictAndLeavesDefaultsOut) {
  const runs::RunResult result = result_of(small_settings(), small_trace(), 0);
  const std::string text = overview_text(result, 100);
  std::size_t at = 0;
  for (const char* title :
       {"13 requests on llama-3-8b, one replica\n", "\nVerdict\n", "\nLatency", "\nWhat limits\n",
        "\nMemory: ", "\nWork\n", "\nScenario\n", "\nAssumed\n", "\n--verbose "}) {
    const std::size_t found = text.find(title, at);
    ASSERT_NE(found, std::string::npos) << title << " is not behind the others:\n" << text;
    at = found;
  }
  EXPECT_NE(text.find("12 of 13 requests completed; "), std::string::npos) << text;
  EXPECT_NE(text.find("One request was rejected"), std::string::npos);
  EXPECT_NE(text.find("of the requests met all targets"), std::string::npos);
  EXPECT_NE(text.find("\n  memory.pool_blocks  given"), std::string::npos) << text;
  for (const char* left_out : {"workload.rate_scale", "targets.fraction", "\n  hole ", "deployment.tp"})
    EXPECT_EQ(text.find(left_out), std::string::npos) << left_out;
  EXPECT_NE(text.find("model=llama-3-8b"), std::string::npos) << "the default of a bare trace";
}

/// A label with its cell is a statement, and no two of them contradict each other.
TEST(Overview, SaysNoBareYesOrNo) {
  for (const bool saturated : {false, true}) {
    runs::RunResult result = result_of(small_settings(), small_trace(), 0);
    result.saturation.emplace().saturated = saturated;
    result.starts = false;
    result.obstacles = {{model::kLongestRequest, 262144, 1000, Unit::kTokens, {"deployment.tp=2"}}};
    const std::string text = overview_text(result, 100);
    for (const char* word : {"unhindered", "  yes", "  no\n", "saturated  "})
      EXPECT_EQ(text.find(word), std::string::npos) << word << text;
    EXPECT_EQ(text.find("Requests came faster than they were served") != std::string::npos, saturated);
    EXPECT_NE(
        text.find(
            "The engine would not start: one longest request needs 262,144 tokens, and 1,000 tokens are\n  "
            "available;"),
        std::string::npos)
        << text;
  }
}

TEST(Overview, KeepsWithinAScreenAndAHalf) {
  runs::RunResult result = result_of(small_settings(), small_trace(), 0);
  for (int i = 0; i < 60; ++i) {
    result.assumptions.push_back("Assumption " + std::to_string(i) + ": " + std::string(150, 'x') +
                                 " and more.");
    result.warnings.push_back("Warning " + std::to_string(i) + ".");
    result.replicas.push_back(result.replicas[0]);
    const std::string text = overview_text(result, 100);
    EXPECT_LE(lines_of(text), kOverviewLines) << text;
    EXPECT_NE(text.find("\nAssumed\n  "), std::string::npos);
    EXPECT_NE(text.find("\nWarnings\n  Warning 0."), std::string::npos);
  }
  result.warnings.clear();
  result.assumptions.clear();
  result.saturation.emplace().saturated = false;
  const std::string text = overview_text(result, 100);
  EXPECT_LE(lines_of(text), kOverviewLines) << text;
  EXPECT_NE(text.find("\n  and 56 more\n"), std::string::npos) << text;
}

TEST(ReportText, NothingToMeasureIsADashNotANumber) {
  auto settings = small_settings();
  settings.push_back({"workload.limit", "0", {}, 0});
  const std::string text = content_text(run_content(result_of(settings, small_trace(), 0)), 100);
  EXPECT_NE(text.find("first token (TTFT)     -"), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace kvplan::report
