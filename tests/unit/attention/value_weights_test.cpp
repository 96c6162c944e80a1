// Policies that weight attention by values, compared with their definitions on queries, keys and values: the bounds
// with weights=output, and the selection of the design notes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/naive_sets.h"
#include "tests/unit/attention/tensor_input.h"

namespace kvplan::attention {
namespace {

/// Tensors, with the quantities that the definitions need.
class Case {
 public:
  Case(Random& random, int most_tokens)
      : heads(1 + static_cast<int>(random.below(2))),
        group(1 + static_cast<int>(random.below(2))),
        tokens(2 + static_cast<int>(random.below(static_cast<std::uint64_t>(most_tokens - 1)))),
        prompt(1 + static_cast<int>(random.below(static_cast<std::uint64_t>(tokens)))),
        max(random.chance(1, 2)),
        recording(random_tensors(random, heads, group, tokens, false)) {}

  [[nodiscard]] std::string agg() const { return max ? ",agg=max" : ",agg=mean"; }
  [[nodiscard]] double value(int head, int token, int channel) const {
    const LayerTensors& all = recording.tensors();
    return static_cast<double>(all.values[static_cast<std::size_t>(head)]
                                         [static_cast<std::size_t>(token * all.value_size + channel)]);
  }
  [[nodiscard]] double length(int head, int token) const {
    double sum = 0;
    for (int c = 0; c < recording.tensors().value_size; ++c)
      sum += value(head, token, c) * value(head, token, c);
    return std::sqrt(sum);
  }
  /// For the query heads of a KV head, one weight for each of `among`: each head's softmax over all of them, combined.
  [[nodiscard]] NaiveRow row(int head, int t, const std::set<int>& among) const {
    const LayerTensors& all = recording.tensors();
    NaiveRow out;
    for (int q = head * group; q < (head + 1) * group; ++q) {
      NaiveRow weight;
      double sum = 0;
      for (const int p : among) {
        double product = 0;
        for (int c = 0; c < all.key_size; ++c)
          product +=
              static_cast<double>(
                  all.queries[static_cast<std::size_t>(q)][static_cast<std::size_t>(t * all.key_size + c)]) *
              static_cast<double>(
                  all.keys[static_cast<std::size_t>(head)][static_cast<std::size_t>(p * all.key_size + c)]);
        weight[p] = std::exp(all.scale * product);
        sum += weight[p];
      }
      for (const auto& [p, each] : weight)
        out[p] = max ? std::max(out[p], each / sum) : out[p] + each / sum / group;
    }
    return out;
  }
  /// The recorded row of a query times the norms of values.
  [[nodiscard]] NaiveRow output_row(int head, int t) const {
    NaiveRow out = row(head, t, naive_range(0, t + 1));
    for (auto& [p, each] : out) each *= length(head, p);
    return out;
  }

  int heads, group, tokens, prompt;
  bool max;
  RecordedTensors recording;
};

/// The tokens that stay after token t, out of those present then.
using Stay = std::function<std::set<int>(int head, int t, const std::set<int>& kept)>;

void expect_sets(const Case& it, const Outcome& found, const Stay& stay) {
  ASSERT_EQ(found.retained.size(), static_cast<std::size_t>(it.tokens - it.prompt));
  for (int head = 0; head < it.heads; ++head) {
    std::set<int> kept = naive_range(0, it.prompt - 1);
    for (int t = it.prompt - 1; t < it.tokens; ++t) {
      kept.insert(t);
      kept = stay(head, t, kept);
      const Sets& sets =
          t < it.prompt ? found.after_prefill : found.retained[static_cast<std::size_t>(t - it.prompt)];
      ASSERT_EQ(sets[static_cast<std::size_t>(head)], std::vector<std::int32_t>(kept.begin(), kept.end()))
          << "head " << head << ", token " << t;
    }
  }
}

TEST(OutputOracles, SuffixAgainstItsDefinition) {
  int differ = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed, "output suffix");
    const Case it(random, 30);
    const int budget = 1 + static_cast<int>(random.below(8));
    const std::string text = "oracle-suffix:budget=" + std::to_string(budget) + it.agg();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text + ", prompt " + std::to_string(it.prompt));
    const Outcome found = run_policy(it.recording, text + ",weights=output", it.prompt);
    expect_sets(it, found, [&](int head, int t, const std::set<int>& kept) {
      NaiveRow to_come;
      for (int later = t + 1; later < it.tokens; ++later)
        for (const auto& [p, each] : it.output_row(head, later)) to_come[p] += each;
      return naive_best(to_come, kept, budget);
    });
    differ += found.retained != run_policy(it.recording, text, it.prompt).retained ? 1 : 0;
  }
  EXPECT_GT(differ, 10);
}

TEST(OutputOracles, TopKAgainstItsDefinition) {
  int differ = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed, "output top");
    const Case it(random, 30);
    const int k = 1 + static_cast<int>(random.below(8));
    const std::string text = "oracle-topk:k=" + std::to_string(k) + it.agg();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text + ", prompt " + std::to_string(it.prompt));
    const Outcome found = run_policy(it.recording, text + ",weights=output", it.prompt);
    for (int t = it.prompt; t < it.tokens; ++t)
      for (int head = 0; head < it.heads; ++head) {
        const auto best = naive_best(it.output_row(head, t), naive_range(0, t + 1), k);
        ASSERT_EQ(found.retained[static_cast<std::size_t>(t - it.prompt)][static_cast<std::size_t>(head)],
                  std::vector<std::int32_t>(best.begin(), best.end()));
      }
    differ += found.retained != run_policy(it.recording, text, it.prompt).retained ? 1 : 0;
  }
  EXPECT_GT(differ, 10);
}

/// The greatest total of a KV head, over all sequences of sets: sets are bits of a number.
double best_of_all(const Case& it, int head, int budget) {
  std::map<int, double> best{{(1 << it.prompt) - 1, 0.0}};
  for (int t = it.prompt - 1; t < it.tokens; ++t) {
    std::map<int, double> next;
    const NaiveRow row = it.output_row(head, t);
    for (const auto& [before, sum] : best) {
      int set = before;
      double here = sum;
      if (t >= it.prompt) {
        set |= 1 << t;
        for (const auto& [p, each] : row) here += (set >> p & 1) != 0 ? each : 0;
      }
      for (int kept = set;; kept = (kept - 1) & set) {
        if (__builtin_popcount(static_cast<unsigned>(kept)) <= budget)
          next[kept] = std::max(next[kept], here);
        if (kept == 0) break;
      }
    }
    best = next;
  }
  double most = 0;
  for (const auto& [set, sum] : best) most = std::max(most, sum);
  return most;
}

double total_of(const Case& it, int head, const Outcome& found) {
  const auto h = static_cast<std::size_t>(head);
  double out = 0;
  std::vector<std::int32_t> before = found.after_prefill[h];
  for (int t = it.prompt; t < it.tokens; ++t) {
    const NaiveRow row = it.output_row(head, t);
    out += row.at(t);
    for (const std::int32_t p : before) out += row.at(p);
    before = found.retained[static_cast<std::size_t>(t - it.prompt)][h];
  }
  return out;
}

TEST(OutputOracles, ExactIsTheBestOfAllSequencesOfSets) {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed, "output exact");
    const Case it(random, 8);
    const std::string budget = std::to_string(1 + random.below(4));
    SCOPED_TRACE("seed " + std::to_string(seed) + ", budget " + budget + it.agg());
    const auto run = [&](const std::string& policy) {
      return run_policy(it.recording, policy + ":budget=" + budget + it.agg(), it.prompt);
    };
    const Outcome found =
        run_policy(it.recording, "oracle-exact:weights=output,budget=" + budget + it.agg(), it.prompt);
    for (int head = 0; head < it.heads; ++head) {
      const double most = best_of_all(it, head, std::stoi(budget));
      EXPECT_NEAR(total_of(it, head, found), most, 1e-9);
      better += total_of(it, head, run("oracle-exact")) < most - 1e-6 ? 1 : 0;
    }
    for (const Sets& sets : found.retained) EXPECT_LE(sets[0].size(), std::stoul(budget));
  }
  EXPECT_GT(better, 10) << "the bound of attention is another";
}

/// For recordings with norms of values but without values.
TEST(OutputOracles, LengthsAlone) {
  Random random(1, "lengths");
  LayerTensors tensors = random_tensors(random, 1, 1, 20, false);
  const RecordedTensors values(tensors);
  tensors.value_norms.emplace_back();
  for (int t = 0; t < 20; ++t) tensors.value_norms[0].push_back(t == 3 ? 1e30F : 1.0F);
  const RecordedTensors heavy(tensors);
  for (const char* text : {"oracle-suffix:budget=1,weights=output", "oracle-exact:budget=1,weights=output",
                           "oracle-topk:k=1,weights=output"}) {
    const Outcome found = run_policy(heavy, text, 10);
    for (std::size_t i = 0; i + 1 < found.retained.size(); ++i)
      EXPECT_EQ(found.retained[i][0], (std::vector<std::int32_t>{3})) << text;
  }
}

TEST(OutputOracles, SayWhatIsMissing) {
  Random random(1, "missing");
  const auto rows = recording_of({random_rows(random, 1, 4, RowKind::kSmooth)});
  for (const std::string name : {"oracle-suffix:budget=2", "oracle-exact:budget=2", "oracle-topk:k=2"}) {
    const auto found =
        evaluate(*rows, {.policy = parse_policy(name + ",weights=output").value(), .prompt = 1},
                 [](const LayerReplay&) -> Status { return Done{}; });
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().to_string(),
              name.substr(0, name.find(':')) +
                  ": decides by value norms, which this recording does not have (attention rows only): "
                  "expected a .kva file with queries, keys and values");
  }
}

TEST(SeedPyramidSelect, WithValuesAgainstItsDefinition) {
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    Random random(seed, "select");
    const Case it(random, 40);
    const int budget = 1 + static_cast<int>(random.below(12));
    const bool sizes = random.chance(1, 2);
    const std::string text = "seed-pyramid-select:budget=" + std::to_string(budget) +
                             ",importance=" + (sizes ? "value-norm" : "value-sum") + it.agg();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text + ", prompt " + std::to_string(it.prompt));
    expect_sets(it, run_policy(it.recording, text, it.prompt),
                [&](int head, int t, const std::set<int>& kept) {
                  if (static_cast<int>(kept.size()) <= budget) return kept;
                  NaiveRow score = it.row(head, t, kept);
                  for (auto& [p, each] : score) {
                    double sum = 0;
                    for (int c = 0; c < it.recording.tensors().value_size; ++c)
                      sum += sizes ? std::fabs(it.value(head, p, c)) : it.value(head, p, c);
                    each *= sum;
                  }
                  const std::set<int> newest = naive_newest(kept, budget / 2);
                  std::set<int> out = naive_best(score, naive_less(kept, newest), budget - budget / 2);
                  out.insert(newest.begin(), newest.end());
                  return out;
                });
  }
}

TEST(SeedPyramidSelect, SaysThatValuesAreMissing) {
  Random random(1, "missing");
  const auto rows = recording_of({random_rows(random, 1, 4, RowKind::kSmooth)});
  const auto found = evaluate(
      *rows,
      {.policy = parse_policy("seed-pyramid-select:budget=2,importance=value-sum").value(), .prompt = 1},
      [](const LayerReplay&) -> Status { return Done{}; });
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().to_string().find("decides by values"), std::string::npos);
}

}  // namespace
}  // namespace kvplan::attention
