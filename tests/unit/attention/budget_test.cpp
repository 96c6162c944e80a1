// Budget schemes: figures worked out by hand, sums that a definition guarantees, and a second form of each scheme.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "simulator/attention/budget.h"
#include "simulator/base/random.h"

namespace kvplan::attention {
namespace {

using Numbers = std::vector<double>;

Result<Retained> retained(const std::string& text, std::int64_t layers, std::int64_t prompt,
                          const std::vector<Numbers>& scores = {}) {
  KVPLAN_TRY(const Choice choice, parse_component(text, kBudgetFamily, budget_descriptors()));
  return budget_of(choice).retained({.choice = choice, .layers = layers, .prompt = prompt, .scores = scores});
}

Numbers by_layers(const std::string& text, std::int64_t layers, std::int64_t prompt) {
  auto made = retained(text, layers, prompt);
  EXPECT_TRUE(made.ok()) << text << ": " << made.error().to_string();
  Numbers out;
  if (!made.ok()) return out;
  for (const auto& layer : made.value().tokens) out.push_back(layer.at(0));
  return out;
}
double sum(const Numbers& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

TEST(Budget, WorkedOutByHand) {
  EXPECT_EQ(by_layers("pyramidkv:capacity=12,window=4,beta=2", 4, 64), Numbers({16, 14, 12, 10}));
  EXPECT_EQ(by_layers("pyramidkv:capacity=12,window=4,beta=2", 4, 11), Numbers({11, 11, 11, 11}));
  EXPECT_EQ(by_layers("pyramidkv:capacity=12,window=4,beta=2", 4, 15), Numbers({12, 12, 12, 12}));
  const Numbers long_one = by_layers("pyramidkv:capacity=128,window=8", 32, 250);
  EXPECT_EQ(long_one[0], 242);
  EXPECT_EQ(long_one[1], 235);
  EXPECT_EQ(long_one[31], 25);
  EXPECT_EQ(sum(long_one), 4272);
  const Numbers paper = by_layers("pyramidkv-paper:total=32,beta=2", 4, 64);
  EXPECT_EQ(paper[0], 12);
  EXPECT_NEAR(paper[1], 28.0 / 3, 1e-12);
  EXPECT_NEAR(paper[2], 20.0 / 3, 1e-12);
  EXPECT_EQ(paper[3], 4);
  EXPECT_EQ(by_layers("seed-pyramid-power:max_len=100,alpha=0.5,beta=0.5", 4, 100),
            Numbers({100, 93, 86, 79}));
  EXPECT_EQ(by_layers("seed-pyramid-linear:max_len=100,ratio=0.5", 1, 100), Numbers({100})) << "at depth 0";
  EXPECT_EQ(by_layers("seed-pyramid-linear:max_len=100,ratio=0.5", 4, 100), Numbers({100, 83, 66, 64}));
  EXPECT_EQ(by_layers("seed-pyramid-linear:max_len=100,ratio=0.5,warmup=0.1,min_size=16", 10, 100),
            Numbers({100, 94, 88, 83, 77, 72, 66, 61, 55, 50}));
  const auto heads = retained("headkv:scores=here,capacity=10,window=0,beta=2", 2, 64, {{.4, .1}, {.3, .2}});
  ASSERT_TRUE(heads.ok());
  EXPECT_TRUE(heads.value().by_head);
  EXPECT_EQ(heads.value().tokens, (std::vector<Numbers>{{13, 7}, {11, 9}}));
}

/// The capacities for a short prompt grow with depth: 100, 102, ..., 162; all of them hold the whole prompt.
TEST(Budget, AdaKvPyramidOfAShortPrompt) {
  const auto schedule = pyramid_schedule(120, 20, 92, 32);
  EXPECT_EQ(schedule.front() + 8, 100);
  EXPECT_EQ(schedule[1] + 8, 102);
  EXPECT_EQ(schedule.back() + 8, 162);
  EXPECT_EQ(by_layers("ada-kv-pyramid:capacity=128,window=8", 32, 100), Numbers(32, 100));
  EXPECT_EQ(by_layers("ada-kv-pyramid:capacity=128,window=8", 32, 1000),
            by_layers("pyramidkv:capacity=128,window=8", 32, 1000));
}

TEST(Budget, KvpressFallsBackToTheSameInEachLayer) {
  // From a ratio of 0.69 on, at 4096 tokens with the defaults.
  EXPECT_EQ(by_layers("pyramidkv-kvpress:ratio=0.69", 32, 4096),
            Numbers(32, std::nearbyint(4096 * (1 - 0.69))));
  const Numbers fits = by_layers("pyramidkv-kvpress:ratio=0.68", 32, 4096);
  EXPECT_GT(fits.front(), fits.back());
  EXPECT_GE(fits.back(), 64);
}

TEST(Budget, SumsAndOrder) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed, "budget");
    const auto layers = static_cast<std::int64_t>(2 + random.below(79));
    const auto window = static_cast<std::int64_t>(random.below(65));
    const auto capacity = window + 1 + static_cast<std::int64_t>(random.below(2048));
    const auto prompt = static_cast<std::int64_t>(1 + random.below(8192));
    const auto beta = static_cast<std::int64_t>(1 + random.below(30));
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string parameters = "capacity=" + std::to_string(capacity) +
                                   ",window=" + std::to_string(window) + ",beta=" + std::to_string(beta);
    const Numbers factory = by_layers("pyramidkv:" + parameters, layers, prompt);
    const auto all = static_cast<double>(layers * std::min(prompt, capacity));
    if (prompt < capacity || prompt < 2 * (capacity - window)) {
      EXPECT_EQ(sum(factory), all);
    } else {
      EXPECT_GE(sum(factory), all);
      EXPECT_LT(sum(factory) - all, static_cast<double>(layers * (layers - 1)) / 2);
    }
    if (capacity - window >= window) {
      EXPECT_TRUE(std::is_sorted(factory.rbegin(), factory.rend()));
    }
    const Numbers paper =
        by_layers("pyramidkv-paper:total=" + std::to_string(capacity) + ",beta=" + std::to_string(beta),
                  layers, prompt);
    EXPECT_NEAR(sum(paper), static_cast<double>(capacity), 1e-9 * static_cast<double>(capacity));
    for (const char* seeds :
         {"seed-pyramid-power:alpha=0.7,beta=1.5,max_len=", "seed-pyramid-linear:ratio=0.3,max_len="}) {
      const Numbers sizes = by_layers(seeds + std::to_string(capacity + 64), layers, prompt);
      EXPECT_TRUE(std::is_sorted(sizes.rbegin(), sizes.rend()));
      EXPECT_GE(sizes.back(), 16);
    }
    std::vector<Numbers> scores;
    double all_scores = 0;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      scores.push_back({random.unit(), random.unit(), random.unit()});
      all_scores += sum(scores.back());
    }
    const auto heads = retained("headkv:scores=here," + parameters, layers, 1 << 30, scores);
    ASSERT_TRUE(heads.ok());
    double total = 0;
    for (const Numbers& layer : heads.value().tokens) total += sum(layer);
    const auto count = static_cast<double>(layers * 3);
    EXPECT_LE(std::fabs(total - count * static_cast<double>(capacity)), count / 2);
    // One layer, as the definition is written.
    const auto base = static_cast<double>(capacity - window);
    const double part = std::floor(base / static_cast<double>(beta));
    EXPECT_EQ(heads.value().tokens[0][1],
              std::nearbyint(scores[0][1] / all_scores * (part * count) + base - part) +
                  static_cast<double>(window));
  }
}

TEST(Budget, RefusesWhatHasNoMeaning) {
  EXPECT_FALSE(retained("pyramidkv:capacity=12,window=4", 1, 64).ok());
  EXPECT_FALSE(retained("pyramidkv:capacity=12,window=13", 4, 64).ok());
  EXPECT_FALSE(retained("headkv:scores=here,capacity=10,window=0", 3, 64, {{1, 2}, {3, 4}}).ok());
  EXPECT_FALSE(retained("headkv:scores=here,capacity=10,window=0", 1, 64, {{0, 0}}).ok());
}

TEST(Budget, DescribesItself) {
  for (const BudgetKind* kind : budgets()) {
    EXPECT_EQ(kind->descriptor.family, kBudgetFamily);
    EXPECT_FALSE(kind->descriptor.summary.empty());
    EXPECT_FALSE(kind->descriptor.source.empty());
    for (const Param& param : kind->descriptor.params) EXPECT_FALSE(param.help.empty()) << param.name;
  }
}

}  // namespace
}  // namespace kvplan::attention
