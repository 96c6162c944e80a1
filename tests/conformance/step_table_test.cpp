// Step times between and beyond measured steps: by formula, and compared with a slow table that looks at every step and
// computes with fractions.
#include "simulator/latency/step_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "simulator/base/random.h"

namespace kvplan::latency {
namespace {

std::int64_t at(const StepTable& table, std::int64_t sequences, std::int64_t computed, std::int64_t context) {
  const StepTable::Piece p = table.piece(sequences, computed, context);
  EXPECT_LE(p.begin, context);
  EXPECT_GE(p.end, context);
  return p.at_begin + p.slope * (context - p.begin);
}

StepTable table_of(std::vector<MeasuredStep> steps) {
  return StepTable::make(std::move(steps)).value();
}

TEST(StepTable, AContextBetweenTwoMeasuredOnesByFormula) {
  // From 1000 to 1047 ticks over 10 tokens: 4 ticks each, and one more for each of the last 7.
  const StepTable table = table_of({{8, 8, 100, {1000}}, {8, 8, 110, {1047}}});
  const std::vector<std::int64_t> expected{1000, 1004, 1008, 1012, 1017, 1022, 1027, 1032, 1037, 1042, 1047};
  for (std::int64_t k = 0; k <= 10; ++k)
    EXPECT_EQ(at(table, 8, 8, 100 + k), expected[static_cast<std::size_t>(k)]);
  EXPECT_EQ(at(table, 8, 8, 0), 1000) << "below the least";
  EXPECT_EQ(at(table, 8, 8, 210), 1047 + 4 * 100) << "beyond the greatest";
  EXPECT_EQ(at(table, 1, 1, 105), 1022) << "one row serves all";
}

TEST(StepTable, PromptTokensAndSequencesByFormula) {
  const StepTable table = table_of({{4, 4, 0, {1000}},    // decode
                                    {4, 104, 0, {3000}},  // 100 prompt tokens
                                    {8, 8, 0, {1600}},
                                    {8, 108, 0, {4003}}});
  EXPECT_EQ(at(table, 4, 54, 0), 2000);
  EXPECT_EQ(at(table, 4, 204, 0), 5000) << "beyond the greatest prompt";
  EXPECT_EQ(at(table, 6, 6, 0), 1300);
  EXPECT_EQ(at(table, 7, 7, 0), 1450);
  EXPECT_EQ(at(table, 6, 56, 0), (2000 + 2801) / 2) << "each way rounded down";
  EXPECT_EQ(at(table, 16, 16, 0), 1600 + 2 * 600) << "beyond the most sequences";
  EXPECT_EQ(at(table, 1, 1, 0), 1000) << "below the fewest";
  EXPECT_EQ(at(table, 4, 4, 1'000'000), 1000) << "one context says nothing of others";
}

TEST(StepTable, OfSeveralAlikeTheMiddleOneCounts) {
  const StepTable table =
      table_of({{1, 1, 5, {30}}, {1, 1, 5, {10}}, {1, 1, 5, {20}}, {1, 1, 9, {8}}, {1, 1, 9, {7}}});
  EXPECT_EQ(at(table, 1, 1, 5), 20);
  EXPECT_EQ(at(table, 1, 1, 9), 7);
  EXPECT_EQ(at(table, 1, 1, 100), 7) << "what falls does not go on falling";
}

TEST(StepTable, WhatCannotBeIsRefused) {
  EXPECT_FALSE(StepTable::make({}).ok());
  EXPECT_FALSE(StepTable::make({{0, 0, 0, {1}}}).ok());
  EXPECT_FALSE(StepTable::make({{2, 1, 0, {1}}}).ok());
  EXPECT_FALSE(StepTable::make({{1, 1, -1, {1}}}).ok());
  EXPECT_FALSE(StepTable::make({{1, 1, 0, {-1}}}).ok());
  EXPECT_FALSE(StepTable::make({{1, 1, 0, {(std::int64_t{1} << 60) + 1}}}).ok());
}

TEST(StepTable, HugeNumbersAreCutAndDoNotWrap) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  constexpr std::int64_t kFar = std::int64_t{1} << 53;
  const StepTable table =
      table_of({{1, 1, 0, {0}}, {1, 1, 1, {kMost}}, {1, 1 + kFar, kFar, {kMost}}, {kFar, kFar, kFar, {1}}});
  for (const std::int64_t sequences : {std::int64_t{1}, kFar / 2, kFar, kMost})
    for (const std::int64_t prompt : {std::int64_t{0}, kFar, kMost})
      for (const std::int64_t context : {std::int64_t{0}, std::int64_t{1}, kFar, INT64_MAX}) {
        const StepTable::Piece p = table.piece(sequences, sequences + prompt, context);
        EXPECT_GE(p.at_begin, 0);
        EXPECT_LE(p.at_begin, kMost);
        EXPECT_LE(p.begin, context);
        EXPECT_GE(p.end, context);
      }
}

/// Grids of random numbers of ticks. In doubles: a table that is linear in each of the three, one after the other,
/// differs by what is rounded; measured steps are exact; nothing falls where the measured steps do not.
TEST(StepTable, IsLinearBetweenAndNeverFalls) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed, "step table");
    const auto places = [&](std::int64_t least, std::int64_t most) {
      std::vector<std::int64_t> out;
      for (std::int64_t n = random.between(2, 4); n > 0; --n) out.push_back(random.between(least, most));
      std::sort(out.begin(), out.end());
      out.erase(std::unique(out.begin(), out.end()), out.end());
      return out;
    };
    const std::vector<std::int64_t> sequences = places(1, 40), prompts = places(0, 60),
                                    contexts = places(0, 200);
    std::map<std::array<std::int64_t, 3>, std::int64_t> measured;
    std::vector<MeasuredStep> steps;
    for (const std::int64_t s : sequences)
      for (const std::int64_t p : prompts)
        for (const std::int64_t c : contexts) {
          const std::int64_t ticks =
              100 * s * s + 11 * p * s + p * p + c * s * 3 + c * c / 2;  // rises in all
          measured[{s, p, c}] = ticks;
          steps.push_back({s, s + p, c, {ticks}});
        }
    const StepTable table = table_of(steps);
    for (const auto& [place, ticks] : measured)
      ASSERT_EQ(at(table, place[0], place[0] + place[1], place[2]), ticks);
    const auto linear = [](const std::vector<std::int64_t>& list, std::int64_t x, auto&& value) {
      if (x <= list.front() || list.size() == 1) return value(x <= list.front() ? list.front() : list.back());
      std::size_t high = 1;
      while (high + 1 < list.size() && list[high] < x) ++high;
      const double share =
          static_cast<double>(x - list[high - 1]) / static_cast<double>(list[high] - list[high - 1]);
      const double a = value(list[high - 1]);
      return a + (value(list[high]) - a) * share;
    };
    const auto slow = [&](std::int64_t s, std::int64_t p, std::int64_t c) {
      return linear(sequences, s, [&](std::int64_t s0) {
        return linear(prompts, p, [&](std::int64_t p0) {
          return linear(contexts, c, [&](std::int64_t c0) {
            return static_cast<double>(measured.at({s0, p0, c0}));
          });
        });
      });
    };
    for (int i = 0; i < 300; ++i) {
      const std::int64_t s = random.between(1, 45), p = random.between(0, 70), c = random.between(0, 220);
      const std::int64_t ours = at(table, s, s + p, c);
      // The bend costs at most a quarter of the distance of two contexts; each rounding less than a tick, which what
      // lies beyond the last two multiplies.
      const bool inside = s <= sequences.back() && p <= prompts.back() && c <= contexts.back();
      ASSERT_NEAR(static_cast<double>(ours), slow(s, p, c), inside ? 200 / 4.0 + 3 : 20'000) << seed;
      ASSERT_GE(at(table, s, s + p, c + 1), ours);
      if (s <= sequences.back() && p < prompts.back()) {
        ASSERT_GE(at(table, s, s + p + 1, c), ours);
      }
      if (s < sequences.back() && p <= prompts.back() && c <= contexts.back()) {
        ASSERT_GE(at(table, s + 1, s + 1 + p, c), ours);
      }
    }
  }
}

}  // namespace
}  // namespace kvplan::latency
