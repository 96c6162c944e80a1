// The exact bound against every choice of sets there is, and against all policies of the same budget.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/attention/inputs.h"

namespace kvplan::attention {
namespace {

double total(const Outcome& outcome) {
  double sum = 0;
  for (const auto& step : outcome.mass) sum += step[0];
  return sum;
}

int members(int set) {
  return __builtin_popcount(static_cast<unsigned>(set));
}

/// The greatest total, over all sequences of sets: sets are bits of a number.
double best_of_all(const Rows& rows, int prompt, int budget) {
  const int tokens = static_cast<int>(rows[0].size());
  std::map<int, double> best{{(1 << prompt) - 1, 0.0}};
  for (int t = prompt - 1; t < tokens; ++t) {
    std::map<int, double> next;
    for (const auto& [before, sum] : best) {
      int set = before;
      double here = sum;
      if (t >= prompt) {
        set |= 1 << t;
        for (int p = 0; p <= t; ++p)
          if ((set >> p & 1) != 0) here += rows[0][static_cast<std::size_t>(t)][static_cast<std::size_t>(p)];
      }
      for (int kept = set;; kept = (kept - 1) & set) {
        if (members(kept) <= budget) next[kept] = std::max(next.count(kept) != 0 ? next[kept] : 0.0, here);
        if (kept == 0) break;
      }
    }
    best = next;
  }
  double most = 0;
  for (const auto& [set, sum] : best) most = std::max(most, sum);
  return most;
}

TEST(OracleExact, IsTheBestOfAllSequencesOfSets) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed, "oracle");
    const int tokens = 2 + static_cast<int>(random.below(7));
    const int prompt = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(tokens)));
    const int budget = 1 + static_cast<int>(random.below(4));
    const Rows rows = random_rows(random, 1, tokens, seed % 2 == 0 ? RowKind::kTies : RowKind::kSmooth);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", tokens " + std::to_string(tokens) + ", prompt " +
                 std::to_string(prompt) + ", budget " + std::to_string(budget));
    const Outcome found =
        run_policy(*recording_of({rows}), "oracle-exact:budget=" + std::to_string(budget), prompt);
    EXPECT_NEAR(total(found), best_of_all(rows, prompt, budget), 1e-11);
    for (const Sets& sets : found.retained) EXPECT_LE(sets[0].size(), static_cast<std::size_t>(budget));
  }
}

TEST(OracleExact, NoPolicyOfTheBudgetKeepsMore) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "bound");
    const int tokens = 8 + static_cast<int>(random.below(80));
    const int prompt = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(tokens) - 1));
    const auto recording = recording_of({random_rows(random, 1, tokens, RowKind::kSmooth)});
    double smaller = 0;
    for (int budget = 1; budget <= 12; budget += 1 + static_cast<int>(random.below(5))) {
      const std::string b = std::to_string(budget);
      const double bound = total(run_policy(*recording, "oracle-exact:budget=" + b, prompt));
      EXPECT_GE(bound, smaller - 1e-9);
      smaller = bound;
      for (const std::string& policy :
           {"window:window=" + b, "tova:budget=" + b, "oracle-suffix:budget=" + b, "random:budget=" + b,
            "seed-proportional:budget=" + b, "scissorhands:drop=1,recent=1,budget=" + b,
            "h2o:recent=1,hh=" + std::to_string(budget - 1)})
        EXPECT_GE(bound, total(run_policy(*recording, policy, prompt)) - 1e-9) << policy;
      const Outcome top = run_policy(*recording, "oracle-topk:k=" + std::to_string(budget + 1), prompt);
      EXPECT_LE(bound, total(top) + 1e-9);
    }
  }
}

TEST(OracleExact, KeepsEverythingWhereItMay) {
  Random random(3, "bound");
  const auto recording = recording_of({random_rows(random, 2, 30, RowKind::kSmooth)});
  const Outcome found = run_policy(*recording, "oracle-exact:budget=30", 11);
  EXPECT_EQ(found.retained, run_policy(*recording, "full", 11).retained);
}

TEST(OracleExact, RefusesWhatItCannotSolve) {
  Random random(4, "bound");
  const auto policy = parse_policy("oracle-exact:budget=2");
  const auto recording = recording_of({random_rows(random, 1, 2100, RowKind::kTies)});
  const EvaluationRequest request{.policy = policy.value(), .prompt = 1};
  const auto done = evaluate(*recording, request, [](const LayerReplay&) -> Status { return Done{}; });
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().to_string().find("2099 x 2100"), std::string::npos) << done.error().to_string();
}

}  // namespace
}  // namespace kvplan::attention
