// A second implementation of PyramidInfer, layer by layer, with sets and maps.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/naive_sets.h"

namespace kvplan::attention {
namespace {

/// Mean over the heads of row t, restricted to `seen` and divided by its sum.
NaiveRow row_of(const Rows& layer, int t, const std::set<int>& seen) {
  NaiveRow out;
  for (const auto& head : layer) {
    double sum = 0;
    for (const int p : seen)
      if (p <= t) sum += head[static_cast<std::size_t>(t)][static_cast<std::size_t>(p)];
    for (const int p : seen)
      if (p <= t)
        out[p] += sum > 0 ? head[static_cast<std::size_t>(t)][static_cast<std::size_t>(p)] / sum /
                                static_cast<double>(layer.size())
                          : 0;
  }
  return out;
}

NaiveRow weighted(const std::vector<NaiveRow>& rows) {
  NaiveRow out;
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (const auto& [p, weight] : rows[r])
      out[p] +=
          weight *
          (rows.size() > 1 ? 1 + 0.2 * static_cast<double>(r) / static_cast<double>(rows.size() - 1) : 1);
  return out;
}

double share_of(double least, std::size_t layer, std::size_t layers) {
  return least +
         (1 - least) * (std::cos(M_PI * static_cast<double>(layer) / static_cast<double>(layers)) + 1) / 2;
}

/// Positions of the prompt that enter layer `layer`.
std::set<int> entering(const std::vector<Rows>& model, std::size_t layer, int prompt, double ratio) {
  std::set<int> entered = naive_range(0, prompt);
  const int recent = static_cast<int>(0.2 * prompt);
  for (std::size_t below = 0; below < layer; ++below) {
    std::vector<NaiveRow> rows;
    for (int t = std::max(0, prompt - 1 - recent); t < prompt; ++t)
      rows.push_back(row_of(model[below], t, entered));
    const NaiveRow score = weighted(rows);
    const std::set<int> newest = naive_newest(entered, 1 + recent);
    std::set<int> context = naive_less(entered, newest);
    const int least = std::min(64, prompt - 1 - recent);
    const int stay =
        static_cast<int>(static_cast<double>(context.size()) * share_of(ratio, below, model.size()));
    if (static_cast<int>(context.size()) <= least || stay <= least) continue;
    NaiveRow ranked;
    int index = 0;
    for (const int p : context) ranked[p] = index++ < 4 ? 1e9 : score.at(p);
    entered = naive_best(ranked, context, stay);
    entered.insert(newest.begin(), newest.end());
  }
  return entered;
}

/// With various ratios, from one that leaves out most tokens to one that leaves out none; in every second case each
/// token has a twin with the same weights.
TEST(PyramidInfer, AgainstItsDefinition) {
  int left_out = 0;
  int thinned = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, "pyramidinfer");
    const std::size_t layers = 2 + random.below(3);
    const int prompt = 90 + static_cast<int>(random.below(40));
    const int tokens = prompt + 40 + static_cast<int>(random.below(40));
    std::vector<Rows> model;
    const int heads = 1 + static_cast<int>(random.below(3));
    for (std::size_t l = 0; l < layers; ++l)
      model.push_back(random_rows(random, heads, tokens, seed % 2 == 0 ? RowKind::kTwins : RowKind::kSmooth));
    const auto recording = recording_of(model);
    const double ratio = std::array{0.5, 0.0, 0.3, 0.8, 1.0}[seed % 5];
    const std::string text = "pyramidinfer:ratio=" + std::to_string(ratio);
    const int recent = static_cast<int>(0.2 * prompt);
    const PolicyChoice policy = parse_policy(text).value();
    const auto counts = policy.kind->layer_counts(policy.choice, prompt, static_cast<std::int64_t>(layers));
    ASSERT_EQ(counts.size(), layers);
    for (std::size_t l = 0; l < layers; ++l) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text + ", layer " + std::to_string(l) +
                   ", prompt " + std::to_string(prompt));
      const Outcome found = run_policy(*recording, text, prompt, static_cast<int>(l));
      std::set<int> kept = entering(model, l, prompt, ratio);
      if (static_cast<int>(kept.size()) < prompt) ++left_out;
      ASSERT_EQ(found.after_prefill[0], std::vector<std::int32_t>(kept.begin(), kept.end()));
      ASSERT_EQ(counts[l].of(prompt, prompt), std::ssize(kept));
      std::vector<NaiveRow> rows;
      for (int t = prompt - 1 - recent; t < prompt; ++t) rows.push_back(row_of(model[l], t, kept));
      int settled = static_cast<int>(kept.size());
      for (int t = prompt; t < tokens; ++t) {
        kept.insert(t);
        rows.push_back(row_of(model[l], t, kept));
        rows.erase(rows.begin());
        if (static_cast<int>(kept.size()) - recent - settled >= 16) {
          const std::set<int> newest = naive_newest(kept, 1 + recent);
          const std::set<int> batch = naive_newest(naive_less(kept, newest), 16);
          const int stay = std::max(1, static_cast<int>(16 * 0.9 * share_of(0.1, l, layers)));
          kept = naive_less(kept, naive_less(batch, naive_best(weighted(rows), batch, stay)));
          settled = static_cast<int>(kept.size()) - recent;
          ++thinned;
        }
        ASSERT_EQ(found.retained[static_cast<std::size_t>(t - prompt)][0],
                  std::vector<std::int32_t>(kept.begin(), kept.end()))
            << "token " << t;
        ASSERT_EQ(counts[l].of(t + 1, prompt), std::ssize(kept)) << "token " << t;
      }
    }
  }
  EXPECT_GT(left_out, 10);
  EXPECT_GT(thinned, 10);
}

/// The share of a prompt of 4096 tokens that the policy stores, over all layers. The number of dropped tokens does not
/// depend on rows, so each layer gets only its last row, with equal weights.
double kept_share(const std::string& ratio, std::int32_t layers) {
  constexpr std::int32_t kPrompt = 4096;
  const PolicyChoice policy = parse_policy("pyramidinfer:ratio=" + ratio).value();
  std::vector<ResidentSet> sets(1);
  for (std::int32_t p = 0; p < kPrompt; ++p) sets[0].residents.append(p);
  const std::vector<double> even(kPrompt, 1.0 / kPrompt);
  const HeadRow row{.positions = sets[0].residents.positions(), .weight = even};
  double kept = 0;
  for (std::int32_t layer = 0; layer < layers; ++layer) {
    const auto made = policy.kind->make(
        {.choice = policy.choice, .place = {.layer = layer, .layers = layers, .prompt = kPrompt}});
    for (std::int32_t below = 0; below < layer; ++below) made->lower_layer(below, {&row, 1});
    made->evict(sets);
    kept += static_cast<double>(kPrompt) - static_cast<double>(sets[0].drop.size());
    sets[0].drop.clear();
  }
  return kept / (static_cast<double>(layers) * kPrompt);
}

/// The files that are shipped for models of 32 and of 40 layers have a ratio of 0.9. No ratio of the cosine gives the
/// 46 % of the abstract.
TEST(PyramidInfer, KeepsThePublishedShares) {
  EXPECT_NEAR(kept_share("0.9", 32), 0.766, 0.0005);
  EXPECT_NEAR(kept_share("0.9", 40), 0.727, 0.0005);
  EXPECT_NEAR(kept_share("0.5", 32), 0.535, 0.0005);
  EXPECT_GT(kept_share("0", 32), 0.46);
  EXPECT_EQ(kept_share("1", 32), 1.0);
  for (const std::string ratio : {"0", "0.5", "0.9", "1"})
    for (const std::int32_t layers : {1, 32, 40}) {
      const PolicyChoice policy = parse_policy("pyramidinfer:ratio=" + ratio).value();
      std::int64_t kept = 0;
      for (const core::KeptCount& count : policy.kind->layer_counts(policy.choice, 4096, layers))
        kept += count.of(4096, 4096);
      EXPECT_DOUBLE_EQ(static_cast<double>(kept) / (layers * 4096.0), kept_share(ratio, layers));
    }
}

/// The linear schedules of the public code become a constant 0.9 in every layer, which kvplan's policy does not have:
/// that rule keeps 44 % in 32 layers, less than any ratio of the cosine.
TEST(PyramidInfer, AConstantShareWouldKeepLess) {
  const double newest = 1 + std::floor(0.2 * 4096);
  double tokens = 4096;
  double sum = 0;
  for (int layer = 0; layer < 32; ++layer) {
    sum += tokens;
    tokens = newest + std::floor((tokens - newest) * 0.9);
  }
  EXPECT_NEAR(sum / (32 * 4096), 0.44, 0.005);
  EXPECT_LT(sum / (32 * 4096), kept_share("0", 32));
}

}  // namespace
}  // namespace kvplan::attention
