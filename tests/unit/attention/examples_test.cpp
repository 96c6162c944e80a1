// Examples small enough to check by hand: one head, 8 tokens, prompt 4. Sets and masses were worked out on
// paper, independently of this program.
#include <gtest/gtest.h>

#include "simulator/attention/drops.h"
#include "simulator/attention/output_error.h"
#include "tests/unit/attention/inputs.h"

namespace kvplan::attention {
namespace {

const Rows& example() {
  static const Rows kRows{{{1},
                           {.76, .24},
                           {.66, .07, .27},
                           {.46, .18, .26, .10},
                           {.19, .41, .04, .21, .15},
                           {.41, .04, .14, .09, .02, .30},
                           {.08, .02, .31, .08, .21, .18, .12},
                           {.06, .03, .02, .21, .24, .37, .05, .02}}};
  return kRows;
}

struct Expected {
  std::string policy;
  std::vector<std::vector<std::int32_t>> retained;  ///< at t = 4 .. 7
  std::vector<double> mass;
};

TEST(HandChecked, RetainedSetsAndMasses) {
  const std::vector<Expected> table{
      {"window:window=4", {{1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}, {4, 5, 6, 7}}, {1.00, .59, .90, .89}},
      {"streaming-llm:sink=1,recent=3",
       {{0, 2, 3, 4}, {0, 3, 4, 5}, {0, 4, 5, 6}, {0, 5, 6, 7}},
       {1.00, .96, .67, .74}},
      {"h2o:hh=2,recent=2", {{0, 1, 3, 4}, {0, 1, 4, 5}, {0, 1, 5, 6}, {0, 5, 6, 7}}, {1.00, .86, .61, .53}},
      {"h2o:hh=2,recent=2,score_rows=raw",
       {{0, 1, 3, 4}, {0, 1, 4, 5}, {0, 1, 5, 6}, {0, 1, 6, 7}},
       {1.00, .86, .61, .53}},
      {"tova:budget=4", {{0, 1, 3, 4}, {0, 1, 3, 5}, {0, 3, 5, 6}, {0, 3, 5, 6}}, {1.00, .86, .48, .71}},
      // Keys 2, recent 2 of a prompt of 4.
      {"keyformer:kv_percent=100,recent_percent=50,tau_delta=0.5",
       {{0, 1, 3, 4}, {0, 1, 4, 5}, {0, 1, 5, 6}, {0, 1, 6, 7}},
       {1.00, .86, .61, .53}},
      {"keyformer-gptj:kv_percent=100,recent_percent=50,tau_delta=0.5",
       {{0, 1, 4}, {0, 1, 5}, {0, 1, 6}, {0, 1, 7}},
       {1.00, .77, .40, .16}},
      {"seed-threshold:importance=mean,threshold=0.12",
       {{0, 1, 2, 3, 4}, {0, 1, 2, 3, 5}, {0, 1, 2, 3, 5, 6}, {0, 1, 2, 3, 5, 7}},
       {1.00, 1.00, .79, .76}},
      {"seed-threshold:importance=decay,gamma=0.5,threshold=0.12",
       {{0, 1, 2, 3, 4}, {0, 1, 2, 3, 5}, {0, 2, 5, 6}, {0, 2, 5, 7}},
       {1.00, 1.00, .79, .52}},
      {"seed-threshold:importance=max,threshold=0.2",
       {{0, 1, 2, 3, 4}, {0, 1, 2, 3, 5}, {0, 1, 2, 3, 5, 6}, {0, 1, 2, 3, 5, 7}},
       {1.00, 1.00, .79, .76}},
      {"seed-proportional:importance=max,budget=4,fraction=0.25",
       {{0, 1, 2, 4}, {0, 1, 2, 5}, {0, 1, 2, 6}, {0, 1, 2, 7}},
       {1.00, .91, .71, .18}},
      {"seed-proportional:importance=mean,budget=4,fraction=0.25",
       {{0, 1, 2, 4}, {0, 1, 2, 5}, {0, 2, 5, 6}, {0, 2, 5, 7}},
       {1.00, .91, .71, .52}},
      {"seed-proportional:importance=decay,gamma=0.5,budget=4,fraction=0.25",
       {{0, 1, 3, 4}, {0, 1, 3, 5}, {0, 3, 5, 6}, {0, 3, 5, 7}},
       {1.00, .86, .48, .71}},
      {"scissorhands:budget=4,recent=1,history=4,drop=1",
       {{0, 2, 3, 4}, {0, 2, 3, 5}, {0, 2, 5, 6}, {0, 2, 5, 7}},
       {1.00, .96, .77, .52}},
      {"random:budget=4,seed=7",
       {{1, 2, 3, 4}, {1, 2, 3, 5}, {1, 2, 5, 6}, {1, 5, 6, 7}},
       {1.00, .59, .71, .49}},
      {"oracle-suffix:budget=4",
       {{0, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}, {4, 5, 6, 7}},
       {1.00, .96, .90, .89}},
      {"oracle-exact:budget=4",
       {{0, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}, {4, 5, 6, 7}},
       {1.00, .96, .90, .89}},
  };
  const auto recording = recording_of({example()});
  for (const Expected& expected : table) {
    SCOPED_TRACE(expected.policy);
    const Outcome found = run_policy(*recording, expected.policy, 4);
    EXPECT_EQ(found.after_prefill, Sets({{0, 1, 2, 3}}));
    ASSERT_EQ(found.retained.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(found.retained[i], Sets{expected.retained[i]}) << "t " << i + 4;
      EXPECT_NEAR(found.mass[i][0], expected.mass[i], 1e-12) << "t " << i + 4;
    }
    std::size_t most = 0;
    for (std::size_t i = 0; i < 4; ++i)
      most = std::max(most, (i == 0 ? found.after_prefill : found.retained[i - 1])[0].size());
    EXPECT_EQ(found.summary.peak_decode_entries, static_cast<std::int64_t>(most) + 1);
  }
}

/// A share of the length is not a budget, so giving one is an error.
TEST(SeedDynamic, TakesABudgetWhereItHasOne) {
  const auto error = [](const std::string& params) {
    const auto policy = parse_policy("seed-dynamic:" + params);
    return policy.ok() ? std::string() : policy.error().to_string();
  };
  EXPECT_EQ(error("by=length"), "");
  EXPECT_EQ(error("by=length,budget=9"),
            "seed-dynamic:budget: expected \"none\" with by=length, which keeps a share of all tokens so "
            "far, between least and most; found 9");
  for (const char* params : {"by=mass,budget=9", "by=phase,budget=9", "by=length,adjusts=theta,budget=9"})
    EXPECT_EQ(error(params), "") << params;
  // The written policy can be read again.
  const auto policy = parse_policy("seed-dynamic:by=length").value();
  EXPECT_TRUE(parse_policy(policy.choice.to_string()).ok()) << policy.choice.to_string();
  // Half of 4, 5, 6, 7 and 8 tokens, rounded down.
  const auto kept = run_policy(*recording_of({example()}), "seed-dynamic:by=length", 4);
  EXPECT_EQ(kept.after_prefill[0].size(), 2U);
  for (std::size_t step = 0; step < 4; ++step)
    EXPECT_EQ(kept.retained[step][0].size(), (5 + step) / 2) << step;
}

/// The threshold theta is adjusted like the budget.
TEST(HandChecked, AThresholdThatIsAdjusted) {
  const auto recording = recording_of({example()});
  const auto retained = [&](const std::string& params) {
    return run_policy(*recording, "seed-dynamic:adjusts=theta," + params, 4).retained;
  };
  // By length, 0.4 becomes 0.32, 0.267, 0.229 and 0.2: token 6, with the largest weight 0.179, is dropped at the end.
  EXPECT_EQ(retained("by=length,budget=9,theta=0.4"),
            (std::vector<Sets>{{{0, 3, 4}}, {{0, 3, 4, 5}}, {{0, 3, 4, 5, 6}}, {{0, 3, 4, 5, 7}}}));
  // While all attention is seen, 0.1 becomes 0.111, 0.123, 0.137 and 0.152: so token 6 is dropped, with the largest
  // weight 0.12.
  const std::string by_mass = "theta=0.1,every=1,low=0.7,high=0.8,budget=";
  EXPECT_EQ(retained(by_mass + "9"),
            (std::vector<Sets>{
                {{0, 1, 2, 3, 4}}, {{0, 1, 2, 3, 4, 5}}, {{0, 1, 2, 3, 4, 5, 6}}, {{0, 1, 2, 3, 4, 5, 7}}}));
  EXPECT_EQ(retained(by_mass + "9,theta_most=0.115").back(), (Sets{{0, 1, 2, 3, 4, 5, 6, 7}}));
  // Whatever the threshold is, at most the budget stays: the tokens with the lowest weights are dropped, here 4, with
  // the largest weight 0.15.
  EXPECT_EQ(retained(by_mass + "5")[1], (Sets{{0, 1, 2, 3, 5}}));
  // By phase, with one value for both phases, the threshold does not change.
  EXPECT_EQ(retained("by=phase,budget=9,importance=mean,theta=0.12,theta_later=0.12"),
            run_policy(*recording, "seed-threshold:importance=mean,threshold=0.12", 4).retained);
}

/// These policies make room before the next token comes, so that with a budget of 4 they attend 4.
TEST(HandChecked, LeastUsedMakesRoom) {
  const auto recording = recording_of({example()});
  const std::vector<Expected> table{{"seed-lfu:budget=4,theta=0.1",
                                     {{0, 1, 2, 4}, {0, 1, 2, 5}, {0, 1, 2, 6}, {0, 1, 2, 7}},
                                     {.79, .89, .53, .13}},
                                    {"seed-lru:budget=4,theta=0.1",
                                     {{1, 2, 3, 4}, {1, 3, 4, 5}, {3, 4, 5, 6}, {4, 5, 6, 7}},
                                     {.81, .45, .59, .68}}};
  for (const Expected& expected : table) {
    SCOPED_TRACE(expected.policy);
    const Outcome found = run_policy(*recording, expected.policy, 4);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(found.retained[i], Sets{expected.retained[i]}) << "t " << i + 4;
      EXPECT_NEAR(found.mass[i][0], expected.mass[i], 1e-12) << "t " << i + 4;
    }
    EXPECT_EQ(found.summary.peak_entries, 4);
  }
}

/// The masking simulation keeps everything and shows only a part.
TEST(HandChecked, WhatH2oMaskedShows) {
  const Outcome found = run_policy(*recording_of({example()}), "h2o-masked:hh=2,recent=2", 4);
  const std::vector<std::vector<std::int32_t>> shown{{0, 1, 4}, {0, 1, 5}, {0, 1, 6}, {0, 1, 7}};
  const double mass[] = {1.00, .77, .40, .16};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(found.retained[i], Sets{shown[i]}) << "t " << i + 4;
    EXPECT_NEAR(found.mass[i][0], mass[i], 1e-12) << "t " << i + 4;
  }
  EXPECT_EQ(found.summary.entries, 8);
}

TEST(HandChecked, ChosenWhenThePromptEnds) {
  const auto recording = recording_of({example()});
  const std::vector<std::pair<std::string, std::vector<std::int32_t>>> table{
      {"snapkv:window=2,capacity=5,kernel=1", {2, 4, 5, 6, 7}},
      {"snapkv:window=2,capacity=5,kernel=3", {3, 4, 5, 6, 7}},
      {"snapkv:window=2,capacity=5,kernel=3,pooling=max", {3, 4, 5, 6, 7}},
      {"snapkv:window=2,capacity=6,kernel=3,pooling=max", {2, 3, 4, 5, 6, 7}},  // positions 1 and 2 tie
      {"snapkv:window=2,capacity=9", {0, 1, 2, 3, 4, 5, 6, 7}},
      {"observed-attention:ratio=0.5", {0, 2, 4, 5}},
  };
  for (const auto& [policy, kept] : table) {
    SCOPED_TRACE(policy);
    EXPECT_EQ(run_policy(*recording, policy, 8).after_prefill, Sets{kept});
  }
}

/// Two heads; their last prompt rows vote .30 .05 .24 .20 .19 .10 and .55 .02 .18 ...
TEST(HandChecked, AdaKvMovesBudgetBetweenHeads) {
  Rows rows(2);
  for (int h = 0; h < 2; ++h)
    for (int t = 0; t < 6; ++t) {
      rows[static_cast<std::size_t>(h)].emplace_back(static_cast<std::size_t>(t + 1));
      rows[static_cast<std::size_t>(h)].back().back() = 1;
    }
  // Half of the numbers in the example, so that a row with its own token sums to 1.
  rows[0].push_back({.15, .025, .12, .10, .095, .05, .46});
  rows[1].push_back({.275, .01, .09, .06, .04, .025, .50});
  const auto recording = recording_of({rows});
  const auto kept = [&](const std::string& floor) {
    return run_policy(*recording, "ada-kv:window=1,capacity=4,kernel=1,floor=" + floor, 7).after_prefill;
  };
  EXPECT_EQ(kept("0"), Sets({{0, 2, 3, 4, 6}, {0, 2, 6}}));
  EXPECT_EQ(kept("0.2"), Sets({{0, 2, 3, 6}, {0, 2, 6}}));  // rounding loses one token
  EXPECT_EQ(kept("0.5"), Sets({{0, 2, 3, 6}, {0, 2, 6}}));
}

TEST(HandChecked, RefusesWhatCannotBe) {
  for (const std::string policy : {"snapkv:capacity=8,window=9", "ada-kv:capacity=8,window=2,kernel=4"}) {
    const auto parsed = parse_policy(policy);
    EXPECT_FALSE(parsed.ok()) << policy;
  }
}

TEST(HandChecked, TopKOfTheTrueRow) {
  const Outcome found = run_policy(*recording_of({example()}), "oracle-topk:k=5", 4);
  const double expected[] = {1.00, .98, .90, .93};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found.mass[i][0], expected[i], 1e-12);
  EXPECT_EQ(found.retained[3], Sets({{0, 3, 4, 5, 6}}));
}

TEST(HandChecked, AccumulatorsOfH2o) {
  auto policy = parse_policy("h2o:hh=2,recent=2");
  ASSERT_TRUE(policy.ok());
  const auto recording = recording_of({example()});
  auto rows = recording->open(0, 0);
  ASSERT_TRUE(rows.ok());
  // The policy alone, called as in the replay.
  const auto h2o = policy.value().kind->make({.choice = policy.value().choice, .place = {.prompt = 4}});
  std::vector<ResidentSet> sets{{.residents = Residents(1), .drop = {}}};
  Residents& residents = sets[0].residents;
  const std::vector<std::vector<double>> after{{2.88, .49, .53, .10},
                                               {3.07, .90, .31, .15},
                                               {3.5467, .9465, .1733, .3488},
                                               {3.6779, .9793, .6439, .1967},
                                               {3.7911, 1.3420, .2911, .0377}};
  for (std::int32_t t = 0; t < 8; ++t) {
    residents.append(t);
    std::vector<double> row;
    double sum = 0;
    for (const std::int32_t p : residents.positions()) {
      row.push_back(example()[0][static_cast<std::size_t>(t)][static_cast<std::size_t>(p)]);
      sum += row.back();
    }
    const HeadRow head{.positions = residents.positions(), .weight = row, .divisor = sum};
    h2o->update(0, residents, {&head, 1});
    if (t < 3) continue;
    h2o->evict(sets);
    residents.drop(sets[0].drop);
    sets[0].drop.clear();
    const auto& expected = after[static_cast<std::size_t>(t - 3)];
    ASSERT_EQ(residents.column(0).size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(residents.column(0)[i], expected[i], 6e-5) << "t " << t << ", resident " << i;
  }
}

TEST(HandChecked, OutputErrorWithScalarValues) {
  const std::vector<float> v{1, -1, 2, 0, 1, 3, -2, 1};
  const RowView row{.f64 = example()[0][7].data(), .f32 = nullptr, .logits = nullptr};
  const ValueView values{.data = v.data(), .size = 1};
  const std::vector<std::int32_t> late{4, 5, 6, 7};
  const std::vector<std::int32_t> mixed{0, 2, 6, 7};
  // o = 1.34; over {4,5,6,7} it is 1.8676, over {0,2,6,7} 0.1333.
  EXPECT_NEAR(relative_output_error(attention_output(row, 8, values), row, late, values),
              (1.27 / .68 - 1.34) / 1.34, 1e-12);
  EXPECT_NEAR(relative_output_error(attention_output(row, 8, values), row, mixed, values),
              (1.34 - .02 / .15) / 1.34, 1e-12);
}

/// The same in numbers: errors of .5276 and 1.2067 are within 2 (1 - m) max |v| = 1.92 and 5.10 for masses .68 and .15.
TEST(HandChecked, OutputErrorIsWithinItsBound) {
  const std::vector<float> v{1, -1, 2, 0, 1, 3, -2, 1};
  const RowView row{.f64 = example()[0][7].data(), .f32 = nullptr, .logits = nullptr};
  const ValueView values{.data = v.data(), .size = 1};
  const double output = attention_output(row, 8, values)[0];
  EXPECT_NEAR(output, 1.34, 1e-12);
  struct Part {
    std::vector<std::int32_t> set;
    double mass, output, error, bound;
  };
  for (const Part& part :
       {Part{{4, 5, 6, 7}, .68, 1.8676, .5276, 1.92}, {{0, 2, 6, 7}, .15, .1333, 1.2067, 5.10}}) {
    double mass = 0;
    double sum = 0;
    for (const std::int32_t p : part.set) {
      mass += row.f64[p];
      sum += row.f64[p] * static_cast<double>(v[static_cast<std::size_t>(p)]);
    }
    EXPECT_NEAR(mass, part.mass, 1e-12);
    EXPECT_NEAR(sum / mass, part.output, 5e-5);
    const double error =
        relative_output_error(attention_output(row, 8, values), row, part.set, values) * output;
    EXPECT_NEAR(error, part.error, 5e-5);
    EXPECT_NEAR(2 * (1 - mass) * 3, part.bound, 1e-12);
    EXPECT_LE(error, part.bound);
  }
}

std::unique_ptr<const core::Course> course_of_h2o(core::Placement placement, std::int64_t block) {
  auto trajectory =
      Trajectory::make(recording_of({example()}), 0, 4, parse_policy("h2o:hh=2,recent=2").value());
  EXPECT_TRUE(trajectory.ok() && trajectory.value()->advance(last_that_drops(8)).ok());
  return core::Course::make(
      {.prompt = 4, .final_tokens = 8, .alloc_unit_tokens = block, .placement = placement},
      std::make_shared<RecordedDrops>(std::move(trajectory).value()));
}

/// After t6, tokens 0, 1, 5 and 6 stay at their places: of pages (0,1) (2,3) (4,5) (6,7) the second was freed, and
/// three pages hold four tokens, a hole where 4 was, and the slot of 7.
TEST(HandChecked, CellsWithHoles) {
  const auto course = course_of_h2o(core::Placement::kHoles, 2);
  EXPECT_TRUE(course->freed_entries(5).empty());
  EXPECT_EQ(std::vector<std::int32_t>(course->freed_entries(6).begin(), course->freed_entries(6).end()),
            std::vector<std::int32_t>{1});
  EXPECT_TRUE(course->freed_entries(7).empty());
  EXPECT_EQ(course->settled(7), (core::HeldCells{.live = 4, .reserved = 1, .hole = 1}));
  EXPECT_EQ(course->read_tokens(7), 4);
}

/// 4 -> slot 4, drop 2, 5 -> slot 2, drop 3, 6 -> slot 3, drop 4, 7 -> slot 4: three pages of two tokens from the first
/// generated token on, and none is freed.
TEST(HandChecked, PagesWithReuse) {
  const auto course = course_of_h2o(core::Placement::kReuse, 2);
  EXPECT_EQ(course->table_slots(4), 4);
  for (std::int64_t n = 5; n < 8; ++n) {
    EXPECT_EQ(course->settled(n), (core::HeldCells{.live = 4, .reserved = 1, .tail = 1})) << n;
    EXPECT_EQ(course->table_slots(n), 6);
    EXPECT_TRUE(course->freed_entries(n).empty());
    EXPECT_FALSE(course->compaction(n));
  }
}

TEST(HandChecked, CellsWithReuse) {
  const auto course = course_of_h2o(core::Placement::kReuse, 8);
  // 4 -> slot 4, drop 2, 5 -> slot 2, drop 3, 6 -> slot 3, drop 4, 7 -> slot 4: five of eight slots throughout, one of
  // which is always about to be written.
  for (std::int64_t n = 4; n < 8; ++n) {
    EXPECT_EQ(course->settled(n), (core::HeldCells{.live = 4, .reserved = 1, .tail = 3})) << n;
    EXPECT_EQ(course->read_tokens(n), 4);
    EXPECT_EQ(course->table_slots(n + 1), 8);
  }
}

}  // namespace
}  // namespace kvplan::attention
