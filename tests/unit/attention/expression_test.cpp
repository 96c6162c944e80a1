// Policies that are written as expressions, and sets from files.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/attention/drops.h"
#include "simulator/attention/recorded_sets.h"
#include "simulator/attention/score_expression.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/tensor_input.h"

namespace kvplan::attention {
namespace {

void expect_same(const Recording& recording, std::int64_t prompt, const std::string& expression,
                 const std::string& policy) {
  SCOPED_TRACE(expression + " and " + policy);
  const Outcome found = run_policy(recording, expression, prompt);
  const Outcome expected = run_policy(recording, policy, prompt);
  EXPECT_EQ(found.after_prefill, expected.after_prefill);
  EXPECT_EQ(found.retained, expected.retained);
  EXPECT_EQ(found.mass, expected.mass);
}

TEST(Expression, KnownPoliciesKeepIdenticalSets) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed, "expression");
    const int group = 1 + static_cast<int>(random.below(3));
    const int tokens = 2 + static_cast<int>(random.below(80));
    const auto prompt = static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(tokens)));
    const auto recording = recording_of(
        {random_rows(random, group * 2, tokens, seed % 3 == 0 ? RowKind::kTies : RowKind::kSmooth)}, group);
    const auto heavy = static_cast<std::int64_t>(random.below(12));
    const auto recent = static_cast<std::int64_t>(1 + random.below(12));
    const std::string sum = std::to_string(heavy + recent);
    const std::string r = std::to_string(recent);
    const std::string h = std::to_string(heavy);
    const std::string agg = random.chance(1, 2) ? ",agg=max" : ",agg=mean";
    SCOPED_TRACE("seed " + std::to_string(seed) + ", prompt " + std::to_string(prompt) + " of " +
                 std::to_string(tokens) + agg);
    expect_same(*recording, prompt, "expr:score=accumulated,budget=" + sum + ",recent=" + r + agg,
                "h2o:hh=" + h + ",recent=" + r + agg);
    expect_same(*recording, prompt,
                "expr:score=accumulated,score_rows=raw,budget=" + sum + ",recent=" + r + agg,
                "h2o:score_rows=raw,hh=" + h + ",recent=" + r + agg);
    expect_same(*recording, prompt, "expr:score=last,scope=layer,budget=" + sum + agg,
                "tova:budget=" + sum + agg);
    expect_same(*recording, prompt, "expr:score=position,budget=" + sum, "window:window=" + sum);
    expect_same(*recording, prompt, "expr:score=-age,budget=" + sum + ",sink=" + h,
                "streaming-llm:sink=" + h + ",recent=" + r);
    // All rows are `accumulated`, one row is `last`; a score that is not a number counts as lowest, so the oldest go.
    expect_same(*recording, prompt, "expr:score=windowed,window=1000,budget=" + sum + agg,
                "expr:score=accumulated,budget=" + sum + agg);
    expect_same(*recording, prompt, "expr:score=windowed,window=1,budget=" + sum + agg,
                "expr:score=last,budget=" + sum + agg);
    expect_same(*recording, prompt, "expr:score=log(0-1),budget=" + sum, "window:window=" + sum);
    expect_same(*recording, prompt,
                "expr:score=\"max(position, 0) + 0*min(layer, head, tokens, prompt)\",budget=" + sum,
                "window:window=" + sum);
  }
}

TEST(Expression, WindowedIsTheSumOfTheLatestRows) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed, "windowed");
    const int tokens = 3 + static_cast<int>(random.below(40));
    const int window = 1 + static_cast<int>(random.below(8));
    const Rows rows = random_rows(random, 1, tokens, RowKind::kTies);
    // With raw rows and a budget one too small, the token dropped at the end has the lowest plain column sum.
    const Outcome found = run_policy(*recording_of({rows}),
                                     "expr:score=windowed,score_rows=raw,window=" + std::to_string(window) +
                                         ",budget=" + std::to_string(tokens - 1),
                                     tokens);
    int lowest = 0;
    double least = INFINITY;
    for (int p = 0; p < tokens; ++p) {
      double sum = 0;
      for (int t = std::max(p, tokens - window); t < tokens; ++t)
        sum += rows[0][static_cast<std::size_t>(t)][static_cast<std::size_t>(p)];
      if (sum < least) lowest = p;
      least = std::min(least, sum);
    }
    const auto& kept = found.after_prefill[0];
    EXPECT_FALSE(std::binary_search(kept.begin(), kept.end(), lowest)) << "seed " << seed;
  }
}

/// The policy by key norms, selecting at every token; also for values of unknown direction.
TEST(Expression, NormsAreThoseOfTheRecording) {
  int differ = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, "norms");
    const RecordedTensors recording(random_tensors(random, 2, 2, 40, false));
    for (const char* budget : {"5", "17"}) {
      const std::string kept = std::string(",budget=") + budget;
      const Outcome found = run_policy(recording, "expr:score=-key_norm" + kept, 12);
      const Outcome expected = run_policy(recording, std::string("knorm:every=1,budget=") + budget, 12);
      EXPECT_EQ(found.after_prefill, expected.after_prefill) << seed;
      EXPECT_EQ(found.retained, expected.retained) << seed;
      const Outcome values = run_policy(recording, "expr:score=value_norm" + kept, 12);
      differ += values.retained != found.retained ? 1 : 0;
    }
  }
  EXPECT_GT(differ, 30);
}

TEST(Expression, Functions) {
  auto made = ScoreExpression::make(
      "exp(last) + log(age) + pow(last, 1.5) + sqrt(age) + abs(-last) + floor(age / 2)");
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  auto& score = made.value();
  EXPECT_TRUE(score.uses(ScoreVariable::kLast));
  EXPECT_TRUE(score.uses(ScoreVariable::kAge));
  EXPECT_FALSE(score.uses(ScoreVariable::kAccumulated));
  score.set(ScoreVariable::kLast, 0.7);
  score.set(ScoreVariable::kAge, 5);
  const double expected = std::exp(0.7) + std::log(5.0) + std::pow(0.7, 1.5) + std::sqrt(5.0) + 0.7 + 2;
  EXPECT_NEAR(score.score(), expected, 1e-14);
}

double score_of(const std::string& text, double age) {
  auto made = ScoreExpression::make(text);
  if (!made.ok()) {
    ADD_FAILURE() << made.error().to_string();
    return NAN;
  }
  made.value().set(ScoreVariable::kAge, age);
  return made.value().score();
}

TEST(Expression, WholePowersOfAnyBase) {
  for (int age = 0; age < 20; ++age) {
    const double x = (age - 8) / 4.0;  // its powers have few bits, so products are exact in any order
    double power = 1;
    for (int n = 0; n <= 7; ++n) {
      const std::string exponent = std::to_string(n);
      EXPECT_EQ(score_of("pow((age-8)/4, " + exponent + ")", age), power) << x << " to the " << n;
      if (x != 0) {
        EXPECT_EQ(score_of("pow((age-8)/4, -" + exponent + ")", age), 1 / power) << x << " to the -" << n;
      }
      power *= x;
    }
  }
  EXPECT_EQ(score_of("pow(1.1, 5)", 0), 1.1 * (1.1 * 1.1 * (1.1 * 1.1))) << "squares, from the lowest bit up";
  EXPECT_EQ(score_of("pow(-1, 9007199254740993)", 0), 1) << "2^53 + 1 is read as 2^53, which is even";
  EXPECT_EQ(score_of("pow(-3, 1e300)", 0), INFINITY);
  EXPECT_EQ(score_of("pow(-3, -1e300)", 0), 0);
  EXPECT_EQ(score_of("pow(0, -1)", 0), INFINITY);
  for (const char* no_number : {"pow(-2, 0.5)", "pow(-2, -1.5)", "pow(log(-1), 0)", "pow(0, log(-1))"})
    EXPECT_EQ(score_of(no_number, 0), -INFINITY) << no_number << " is lowest";
}

/// Tokens on this side of the middle have the same score as those beyond it.
TEST(Expression, ASquareKeepsBothSides) {
  Random random(5, "square");
  const auto recording = recording_of({random_rows(random, 2, 40, RowKind::kSmooth)});
  for (const char* budget : {"3", "10"})
    expect_same(*recording, 20, std::string("expr:score=\"pow(age-8, 2)\",budget=") + budget,
                std::string("expr:score=(age-8)*(age-8),budget=") + budget);
}

TEST(Expression, ErrorsSayWhatThereIs) {
  for (const std::string text : {"", "acumulated", "last +", "last ^ 2", "1, 2", "sin(age)", "last = 3"}) {
    const auto made = ScoreExpression::make(text);
    EXPECT_FALSE(made.ok()) << text;
  }
  const auto parsed = parse_policy("expr:score=acumulated,budget=4");
  ASSERT_FALSE(parsed.ok());
  const std::string error = parsed.error().to_string();
  EXPECT_NE(error.find("accumulated last windowed"), std::string::npos) << error;
  EXPECT_NE(error.find("expr:score"), std::string::npos) << error;
}

RecordedLayers three_steps() {
  return {.prompt = 2, .layers = {{.layer = {}, .after = {{{0, 1}}, {{0, 2}}, {{2, 3}}}}}};
}

TEST(Recorded, IsCheckedAgainstTheSequence) {
  const LayerPlace place{.prompt = 2};
  EXPECT_TRUE(check_recorded(three_steps(), place, 1, 4).ok());
  EXPECT_FALSE(check_recorded(three_steps(), place, 2, 4).ok());
  EXPECT_FALSE(check_recorded(three_steps(), place, 1, 5).ok());
  EXPECT_FALSE(check_recorded(three_steps(), place, 1, 3).ok()) << "a step behind the sequence's end";
  EXPECT_FALSE(check_recorded(three_steps(), LayerPlace{.prompt = 1}, 1, 4).ok());
  RecordedLayers back = three_steps();
  back.layers[0].after[2] = {{1, 3}};  // token 1 was dropped before
  EXPECT_FALSE(check_recorded(back, place, 1, 4).ok());
  RecordedLayers early = three_steps();
  early.layers[0].after[0] = {{0, 2}};
  EXPECT_FALSE(check_recorded(early, place, 1, 4).ok());
  RecordedLayers twice = three_steps();
  twice.layers[0].after[1] = {{2, 2}};
  EXPECT_FALSE(check_recorded(twice, place, 1, 4).ok());
  // The kept sets are checked, however long the prompt is.
  constexpr std::int64_t kLong = 1 << 30;
  const RecordedLayers few{.prompt = kLong, .layers = {{.layer = {}, .after = {{{0, kLong - 1}}}}}};
  EXPECT_TRUE(check_recorded(few, LayerPlace{.prompt = kLong}, 1, kLong).ok());
}

TEST(Recorded, SetsOfALayerAreOfNoOther) {
  RecordedLayers sets = three_steps();
  sets.layers[0].layer = 3;
  LayerPlace place{.prompt = 2};
  place.layer = 3;
  EXPECT_TRUE(check_recorded(sets, place, 1, 4).ok());
  place.layer = 4;
  EXPECT_EQ(check_recorded(sets, place, 1, 4).error().to_string(),
            "recorded:file: expected sets of layer 4, found sets of 3");
  sets.layers.push_back({.layer = 4, .after = {{{0, 1}}, {{1, 2}}, {{1, 2}}}});
  EXPECT_TRUE(check_recorded(sets, place, 1, 4).ok());
  EXPECT_EQ(sets.of(4), &sets.layers[1]);
}

/// As a run requests them: the tokens that each step drops.
TEST(Recorded, WhatSetsDrop) {
  RecordedLayers sets{.prompt = 3, .layers = {}};
  sets.layers.push_back({.layer = 1, .after = {{{0, 2}, {0, 1, 2}}, {{2, 3}, {1}}, {{2}, {1, 4}}}});
  sets.layers.push_back({.layer = 0, .after = {{{}, {2}}, {{3}, {}}, {{3, 4}, {}}}});
  const SetDrops drops(std::make_shared<const RecordedLayers>(std::move(sets)), 2);
  ASSERT_EQ(drops.track_units().size(), 4U);
  const std::vector<std::vector<std::vector<std::int32_t>>> expected{
      {{0, 1, 2}, {}, {}}, {{0, 1}, {2, 3}, {4}}, {{1}, {0}, {3, 4}}, {{}, {0, 2, 3}, {}}};
  for (std::int32_t track = 0; track < 4; ++track)
    for (std::int64_t n = 3; n < 6; ++n) {
      std::vector<std::int32_t> found;
      drops.dropped(track, n, found);
      EXPECT_EQ(found, expected[static_cast<std::size_t>(track)][static_cast<std::size_t>(n - 3)])
          << "track " << track << " after " << n;
    }
}

TEST(Recorded, NeedsItsSets) {
  Random random(1, "recorded");
  const auto recording = recording_of({random_rows(random, 1, 4, RowKind::kTies)});
  auto policy = parse_policy("recorded:file=sets.json");
  ASSERT_TRUE(policy.ok());
  const auto run = [&] {
    std::vector<Sets> seen;
    const EvaluationRequest request{.policy = policy.value(), .prompt = 2};
    auto done = evaluate(*recording, request, [&](const LayerReplay& replay) -> Status {
      seen.push_back({replay.reported(0)});
      return Done{};
    });
    return std::pair(done.ok(), seen);
  };
  EXPECT_FALSE(run().first);
  policy.value().recorded = std::make_shared<const RecordedLayers>(three_steps());
  const auto [done, seen] = run();
  EXPECT_TRUE(done);
  EXPECT_EQ(seen, (std::vector<Sets>{{{0, 1}}, {{0, 2}}, {{2, 3}}}));
}

}  // namespace
}  // namespace kvplan::attention
