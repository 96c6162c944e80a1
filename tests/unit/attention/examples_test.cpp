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
    EXPECT_EQ(found.summary.peak_decode_entries, 5);
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
  // The policy alone, fed as the replay does.
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
  EXPECT_NEAR(relative_output_error(row, 8, late, values), (1.27 / .68 - 1.34) / 1.34, 1e-12);
  EXPECT_NEAR(relative_output_error(row, 8, mixed, values), (1.34 - .02 / .15) / 1.34, 1e-12);
}

TEST(HandChecked, CellsWithReuse) {
  auto policy = parse_policy("h2o:hh=2,recent=2,placement=reuse");
  ASSERT_TRUE(policy.ok());
  auto trajectory = Trajectory::make(recording_of({example()}), 0, 4, policy.value());
  ASSERT_TRUE(trajectory.ok());
  auto drops = RecordedDrops::make(std::move(trajectory).value(), 8);
  ASSERT_TRUE(drops.ok());
  const auto course = core::Course::make(
      {.prompt = 4, .final_tokens = 8, .quantum_tokens = 8, .placement = core::Placement::kReuse},
      drops.value());
  // 4 -> slot 4, drop 2, 5 -> slot 2, drop 3, 6 -> slot 3, drop 4, 7 -> slot 4: five of eight slots for ever,
  // of which one is always about to be written.
  for (std::int64_t n = 4; n < 8; ++n) {
    EXPECT_EQ(course->settled(n), (core::HeldCells{.live = 4, .reserved = 1, .tail = 3})) << n;
    EXPECT_EQ(course->kept_tokens(n), 4);
    EXPECT_EQ(course->table_slots(n + 1), 8);
  }
}

}  // namespace
}  // namespace kvplan::attention
