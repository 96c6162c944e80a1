// Several policies in one pass over the rows, and the largest mass that k tokens can have.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/attention/top_mass.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/tensor_input.h"

namespace kvplan::attention {
namespace {

Status nothing(std::span<const LayerReplay> /*replays*/, const LayerRows& /*rows*/) {
  return Done{};
}

TEST(EvaluateTogether, GivesWhatEachPolicyGivesAlone) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "together");
    const std::int64_t tokens = 12 + static_cast<std::int64_t>(random.below(40));
    const std::int64_t prompt = 5 + static_cast<std::int64_t>(random.below(8));
    const RecordedTensors recording(random_tensors(random, 2, 2, tokens, false));
    std::vector<PolicyChoice> policies;
    for (const char* text : {"h2o:hh=3,recent=2", "window:window=4", "full", "seed-lru:budget=4",
                             "h2o-masked:hh=2,recent=3", "oracle-topk:k=5", "oracle-suffix:budget=4",
                             "snapkv:capacity=5,window=2", "keydiff:budget=4", "tova:budget=4"})
      policies.push_back(parse_policy(text).value());
    const auto together = evaluate_together(recording, {.prompt = prompt}, policies, nothing);
    ASSERT_TRUE(together.ok()) << together.error().to_string();
    for (std::size_t i = 0; i < policies.size(); ++i) {
      SCOPED_TRACE(policies[i].choice.to_string());
      const auto alone = evaluate(recording, {.policy = policies[i], .prompt = prompt},
                                  [](const LayerReplay&) -> Status { return Done{}; });
      ASSERT_TRUE(alone.ok());
      const EvaluationSummary& a = alone.value();
      const EvaluationSummary& b = together.value()[i];
      EXPECT_EQ(a.bytes, b.bytes);
      EXPECT_EQ(a.metadata_bytes, b.metadata_bytes);
      EXPECT_EQ(a.peak_bytes, b.peak_bytes);
      EXPECT_EQ(a.steps, b.steps);
      EXPECT_EQ(a.mean_mass, b.mean_mass);
      EXPECT_EQ(a.min_mass, b.min_mass);
      EXPECT_EQ(a.mean_output_error, b.mean_output_error);
      EXPECT_EQ(a.assumptions, b.assumptions);
    }
  }
}

TEST(EvaluateTogether, AnErrorOfOnePolicyEndsAll) {
  Random random(1, "together");
  const auto recording = recording_of({random_rows(random, 2, 9, RowKind::kSmooth)});
  const std::vector<PolicyChoice> policies{parse_policy("full").value(),
                                           parse_policy("keydiff:budget=3").value()};
  const auto ran = evaluate_together(*recording, {.prompt = 3}, policies, nothing);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().field, "keydiff");
}

TEST(EvaluateTogether, CountsWhatEachHeadReads) {
  Random random(2, "together");
  const auto recording = recording_of({random_rows(random, 2, 20, RowKind::kSmooth)});
  const std::vector<PolicyChoice> policies{
      parse_policy("window:window=3").value(), parse_policy("seed-lru:budget=3").value(),
      parse_policy("oracle-topk:k=3").value(), parse_policy("h2o-masked:hh=2,recent=3").value()};
  std::int64_t steps = 0;
  const auto ran = evaluate_together(
      *recording, {.prompt = 8}, policies,
      [&](std::span<const LayerReplay> replays, const LayerRows& rows) -> Status {
        if (replays.front().tokens() == 8) return Done{};
        ++steps;
        const std::vector<std::int64_t> expected{4, 3, 3};
        for (std::size_t i = 0; i < expected.size(); ++i)
          for (const std::int64_t read : replays[i].read_entries()) EXPECT_EQ(read, expected[i]);
        for (std::size_t h = 0; h < 2; ++h) {
          EXPECT_LE(replays[3].read_entries()[h], 6) << "what is hidden is not read";
          TopMass top;
          double most = 0;
          top.sums(rows.row(static_cast<std::int32_t>(h)), replays[0].tokens(), std::vector<std::int64_t>{3},
                   std::span(&most, 1));
          EXPECT_EQ(most, replays[2].attended_mass()[h]) << "oracle-topk of one head is the bound";
        }
        return Done{};
      });
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(steps, 12);
}

TEST(TopMass, IsTheSumOfTheGreatest) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "top mass");
    std::vector<double> row(1 + random.below(60));
    for (double& weight : row)
      weight = random.chance(1, 3) ? static_cast<double>(random.below(4)) / 4 : random.unit();
    std::vector<std::int64_t> entries;
    for (std::int64_t k = 70; k >= 1; k -= static_cast<std::int64_t>(random.below(9))) entries.push_back(k);
    std::vector<double> found(entries.size());
    TopMass top;
    const bool single = random.chance(1, 2);
    const std::vector<float> floats(row.begin(), row.end());
    RowView view;
    if (single) {
      view.f32 = floats.data();
      row.assign(floats.begin(), floats.end());
    } else {
      view.f64 = row.data();
    }
    top.sums(view, static_cast<std::int64_t>(row.size()), entries, found);
    std::vector<double> sorted = row;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto count = std::min<std::size_t>(sorted.size(), static_cast<std::size_t>(entries[i]));
      const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(count);
      EXPECT_NEAR(found[i], std::accumulate(sorted.begin(), end, 0.0), 1e-12) << entries[i];
    }
  }
}

TEST(BudgetParams, AreAddedWhereTheyAreNotGiven) {
  EXPECT_EQ(with_budget_params("h2o", 9), "h2o:recent=4,hh=5");
  EXPECT_EQ(with_budget_params("h2o:", 8), "h2o:recent=4,hh=4");
  EXPECT_EQ(with_budget_params("h2o:recent=1,agg=max", 9), "h2o:recent=1,agg=max,hh=5");
  EXPECT_EQ(with_budget_params("streaming-llm", 20), "streaming-llm:sink=4,recent=16");
  EXPECT_EQ(with_budget_params("streaming-llm", 5), "streaming-llm:sink=2,recent=3");
  EXPECT_EQ(with_budget_params("tova:budget=3", 9), "tova:budget=3");
  EXPECT_EQ(with_budget_params("expr:score=\"min(budget=1, 2)\"", 9),
            "expr:score=\"min(budget=1, 2)\",budget=9");
  EXPECT_EQ(with_budget_params("full", 9), "full");
  EXPECT_EQ(with_budget_params("nothing:a=1", 9), "nothing:a=1");
  EXPECT_NE(policies_with_budget().find("window, seed-ring, streaming-llm, h2o"), std::string::npos);
  EXPECT_EQ(policies_with_budget().find("full"), std::string::npos);
  for (const PolicyKind* kind : policies()) {
    if (kind->budget.param.empty() || kind->descriptor.name == "expr") continue;
    const auto parsed = parse_policy(with_budget_params(kind->descriptor.name, 64));
    EXPECT_TRUE(parsed.ok()) << parsed.error().to_string();
  }
}

}  // namespace
}  // namespace kvplan::attention
