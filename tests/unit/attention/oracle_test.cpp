// The exact bound compared with every possible choice of sets, and with all policies of the same budget.
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

using HeadRowsOf = std::vector<std::vector<double>>;  ///< [t][i] of one head

/// The greatest total, over all sequences of sets: sets are bits of a number.
double best_of_all(const HeadRowsOf& rows, int prompt, int budget) {
  const int tokens = static_cast<int>(rows.size());
  std::map<int, double> best{{(1 << prompt) - 1, 0.0}};
  for (int t = prompt - 1; t < tokens; ++t) {
    std::map<int, double> next;
    for (const auto& [before, sum] : best) {
      int set = before;
      double here = sum;
      if (t >= prompt) {
        set |= 1 << t;
        for (int p = 0; p <= t; ++p)
          if ((set >> p & 1) != 0) here += rows[static_cast<std::size_t>(t)][static_cast<std::size_t>(p)];
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
    EXPECT_NEAR(total(found), best_of_all(rows[0], prompt, budget), 1e-11);
    for (const Sets& sets : found.retained) EXPECT_LE(sets[0].size(), static_cast<std::size_t>(budget));
  }
}

/// Mean or maximum of the rows of some heads.
HeadRowsOf reduced(const Rows& rows, std::size_t first, std::size_t group, bool max) {
  HeadRowsOf out;
  for (std::size_t t = 0; t < rows[0].size(); ++t) {
    out.emplace_back(t + 1);
    for (std::size_t i = 0; i <= t; ++i)
      for (std::size_t h = first; h < first + group; ++h)
        out[t][i] =
            max ? std::max(out[t][i], rows[h][t][i]) : out[t][i] + rows[h][t][i] / static_cast<double>(group);
  }
  return out;
}

/// Each KV head separately, by the combined rows of its query heads.
TEST(OracleExact, IsTheBestOfEachStoredHead) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed, "oracle of heads");
    const std::size_t group = 1 + random.below(3);
    const std::size_t stored = 1 + random.below(3);
    const int tokens = 2 + static_cast<int>(random.below(6));
    const int prompt = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(tokens)));
    const int budget = 1 + static_cast<int>(random.below(4));
    const bool max = seed % 2 == 0;
    const Rows rows = random_rows(random, static_cast<int>(group * stored), tokens,
                                  seed % 3 == 0 ? RowKind::kTies : RowKind::kSmooth);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", groups of " + std::to_string(group) + ", tokens " +
                 std::to_string(tokens) + ", prompt " + std::to_string(prompt) + ", budget " +
                 std::to_string(budget));
    const std::string text = "oracle-exact:budget=" + std::to_string(budget) +
                             ",group=" + std::to_string(group) + (max ? ",agg=max" : ",agg=mean");
    const Outcome found = run_policy(*recording_of({rows}), text, prompt);
    for (std::size_t s = 0; s < stored; ++s) {
      const HeadRowsOf one = reduced(rows, s * group, group, max);
      double sum = 0;
      std::vector<std::int32_t> attended = found.after_prefill[s];
      for (int t = prompt; t < tokens; ++t) {
        attended.push_back(t);
        for (const std::int32_t p : attended)
          sum += one[static_cast<std::size_t>(t)][static_cast<std::size_t>(p)];
        attended = found.retained[static_cast<std::size_t>(t - prompt)][s];
        EXPECT_LE(attended.size(), static_cast<std::size_t>(budget));
      }
      EXPECT_NEAR(sum, best_of_all(one, prompt, budget), 1e-11) << "stored head " << s;
    }
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
