// Budgets from schemes: schemes that use more than lengths, and policies that use a scheme's numbers.
#include "simulator/attention/budgeted.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/tensor_input.h"

namespace kvplan::attention {
namespace {

using Numbers = std::vector<double>;

Result<Retained> retained(const std::string& text, std::int64_t layers, std::int64_t prompt,
                          const std::vector<Numbers>& scores = {}) {
  KVPLAN_TRY(const Choice choice, parse_component(text, kBudgetFamily, budget_descriptors()));
  return budget_of(choice).retained({.choice = choice, .layers = layers, .prompt = prompt, .scores = scores});
}

Numbers of_layers(const std::string& text, std::int64_t layers, std::int64_t prompt,
                  const std::vector<Numbers>& scores = {}) {
  auto made = retained(text, layers, prompt, scores);
  EXPECT_TRUE(made.ok()) << text << ": " << (made.ok() ? "" : made.error().to_string());
  Numbers out;
  if (made.ok())
    for (const auto& layer : made.value().tokens) out.push_back(layer.at(0));
  return out;
}

TEST(BudgetScheme, WorkedOutByHand) {
  EXPECT_EQ(of_layers("uniform:capacity=9", 3, 5), Numbers({9, 9, 9}));
  EXPECT_EQ(of_layers("warm-up:ratio=0.5,budget=\"pyramidkv:capacity=12,window=4,beta=2\"", 4, 64),
            Numbers({64, 64, 12, 10}));
  EXPECT_EQ(of_layers("warm-up:budget=\"uniform:capacity=7\"", 9, 64), Numbers(9, 7));  // 0.1 of 9 is 0
  const Numbers table = of_layers("seed-pyramid-table:max_len=1000", 80, 4096);
  for (const auto& [layer, tokens] : std::map<std::size_t, double>{
           {0, 1000}, {1, 980}, {5, 900}, {7, 860}, {10, 800}, {15, 700}, {33, 355}, {50, 150}, {79, 150}})
    EXPECT_EQ(table[layer], tokens) << layer;
  // Groups .1 | .5 .52 | .9 .91 .92; (6 * .2 - 3 * .1) / 3 = .3 of 100 tokens.
  const Numbers squeezed =
      of_layers("squeeze:scores=here,share=0.2,low=0.1", 6, 100, {{.9}, {.1}, {.5}, {.92}, {.52}, {.91}});
  for (const std::size_t layer : {0U, 3U, 5U}) EXPECT_EQ(squeezed[layer], 10) << layer;
  for (const std::size_t layer : {1U, 2U, 4U}) EXPECT_NEAR(squeezed[layer], 30, 1e-12) << layer;
  // Layers 2 and 3: all variances are equal, so the figure is 0; then they are 0 or 1, so it is a half.
  const Numbers d2o = of_layers("d2o:scores=here,hh_ratio=0.2,recent_ratio=0.1", 5, 99,
                                {{1, 1}, {1, 1}, {1, 1}, {0, 4}, {1, 1}});
  const double sum = 4 + std::exp(-0.5);
  EXPECT_EQ(d2o[0], 99);
  EXPECT_EQ(d2o[1], 99);
  EXPECT_EQ(d2o[4], 99);
  EXPECT_EQ(d2o[2], std::floor(100 * 5 * .2 / sum) + std::floor(100 * 5 * .1 / sum));
  EXPECT_EQ(d2o[3], std::floor(100 * 5 * .2 * std::exp(-0.5) / sum) +
                        std::floor(100 * 5 * .1 * std::exp(-0.5) / sum));
}

TEST(BudgetScheme, SqueezeAgainstEveryGrouping) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed, "squeeze");
    const std::size_t layers = 3 + random.below(5);
    std::vector<Numbers> scores;
    for (std::size_t i = 0; i < layers; ++i) scores.push_back({random.unit()});
    // All ways to assign each layer to one of three groups.
    double least = 1e9;
    std::vector<int> best;
    int ways = 1;
    for (std::size_t i = 0; i < layers; ++i) ways *= 3;
    for (int way = 0; way < ways; ++way) {
      std::vector<int> group;
      std::array<double, 3> sum{};
      std::array<int, 3> count{};
      for (std::size_t i = 0, rest = static_cast<std::size_t>(way); i < layers; ++i, rest /= 3) {
        group.push_back(static_cast<int>(rest % 3));
        sum[rest % 3] += scores[i][0];
        ++count[rest % 3];
      }
      if (count[0] == 0 || count[1] == 0 || count[2] == 0) continue;
      double spread = 0;
      for (std::size_t i = 0; i < layers; ++i) {
        const auto g = static_cast<std::size_t>(group[i]);
        spread += std::pow(scores[i][0] - sum[g] / count[g], 2);
      }
      if (spread >= least - 1e-12) continue;
      least = spread;
      best = group;
    }
    const auto top =
        static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    const auto similar = static_cast<double>(std::count(best.begin(), best.end(), best[top]));
    const auto all = static_cast<double>(layers);
    const Numbers found =
        of_layers("squeeze:scores=here,share=0.4,low=0.05", static_cast<std::int64_t>(layers), 1000, scores);
    const double high = std::min(1.0, (all * .4 - similar * .05) / (all - similar));
    for (std::size_t i = 0; i < layers; ++i)
      EXPECT_NEAR(found[i], best[i] == best[top] ? 50 : 1000 * high, 1e-9)
          << "seed " << seed << ", layer " << i;
  }
}

TEST(BudgetScheme, RefusesWhatHasNoMeaning) {
  EXPECT_FALSE(retained("warm-up:budget=\"headkv:scores=here,capacity=4\"", 4, 64).ok());
  EXPECT_FALSE(retained("warm-up:budget=pyramid", 4, 64).ok());
  EXPECT_FALSE(retained("squeeze:scores=here", 2, 64, {{.1}, {.2}}).ok());
  EXPECT_FALSE(retained("squeeze:scores=here,share=0.1,low=0.9", 3, 64, {{.1}, {.2}, {.3}}).ok());
  EXPECT_FALSE(retained("squeeze:scores=here", 3, 64, {{.1, .2}, {.2, .2}, {.3, .2}}).ok());
  EXPECT_FALSE(retained("d2o:scores=here", 3, 64, {{1}, {1}}).ok());
  EXPECT_FALSE(retained("d2o:scores=here,hh_ratio=0,recent_ratio=0", 1, 64, {{1}}).ok());
}

TEST(BudgetScheme, RealNumbersAreRoundedDownAndLayersLeftAlone) {
  const Grants grants =
      grants_of({.tokens = {{9.99}, {3}, {12}}, .by_head = false, .whole = {false, false, true}});
  EXPECT_EQ(grants.tokens, (std::vector<std::vector<std::int64_t>>{{9}, {3}, {1 << 30}}));
}

/// Compared with the whole matrix of weights of each head, its means and squares.
TEST(BudgetScheme, D2oMeasuresVariancesOfColumns) {
  Random random(3, "variances");
  const std::vector<Rows> layers{random_rows(random, 3, 30, RowKind::kSmooth),
                                 random_rows(random, 3, 30, RowKind::kTies)};
  const auto recording = recording_of(layers);
  const auto choice = parse_component("d2o", kBudgetFamily, budget_descriptors());
  ASSERT_TRUE(choice.ok());
  EXPECT_TRUE(measures_scores(choice.value()));
  const auto measure = budget_of(choice.value()).measure;
  for (const std::size_t prompt : {1U, 2U, 17U, 30U}) {
    const auto found = measure(*recording, 0, static_cast<std::int64_t>(prompt));
    ASSERT_TRUE(found.ok()) << found.error().to_string();
    ASSERT_EQ(found.value().size(), 2U);
    for (std::size_t layer = 0; layer < 2; ++layer)
      for (std::size_t head = 0; head < 3; ++head) {
        const auto n = static_cast<double>(prompt);
        double sum = 0, squares = 0;
        for (std::size_t column = 0; column < prompt; ++column) {
          double of_column = 0;
          for (std::size_t t = column; t < prompt; ++t) of_column += layers[layer][head][t][column];
          sum += of_column;
          squares += of_column * of_column;
        }
        const double expected = prompt == 1 ? 0 : (squares - sum * sum / n) / (n - 1);
        EXPECT_NEAR(found.value()[layer].at(head), expected, 1e-12 * (1 + squares)) << prompt;
      }
  }
  EXPECT_FALSE(measure(*recording, 0, 31).ok());
  EXPECT_FALSE(measure(*recording, 1, 3).ok());
}

/// Sets after the prompt and after every step.
std::vector<Sets> sets_of(const Recording& recording, const PolicyChoice& policy, std::int64_t prompt,
                          std::int32_t layer) {
  std::vector<Sets> out;
  const auto done = evaluate(recording, {.policy = policy, .prompt = prompt, .layer = layer},
                             [&](const LayerReplay& replay) -> Status {
                               out.emplace_back();
                               for (std::int32_t s = 0; s < replay.sets(); ++s)
                                 out.back().push_back(replay.reported(s));
                               return Done{};
                             });
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().to_string());
  return out;
}

/// Every parameter of a policy without a default, except for its budget.
std::string others_of(const PolicyKind& kind) {
  std::string out;
  for (const Param& param : kind.descriptor.params)
    if (param.fallback.empty() && param.name != kind.budget.param)
      out += "," + std::string(param.name) + "=" + (param.name == "score" ? "accumulated/(1+age)" : "2");
  return out;
}

/// A budget from outside equals the parameter, for every policy.
TEST(Budgeted, EveryPolicyTakesWhatItIsGranted) {
  Random random(1, "budgeted");
  const int heads = 4;
  const auto rows = recording_of({random_rows(random, heads, 40, RowKind::kSmooth)}, 2);
  LayerTensors made = random_tensors(random, 2, 2, 40, false);
  add_output_weights(random, 3, made);
  const auto tensors = std::make_shared<RecordedTensors>(std::move(made));
  int policies_tried = 0;
  for (const PolicyKind* kind : policies()) {
    if (kind->budget.param.empty()) continue;
    ++policies_tried;
    const std::string name(kind->descriptor.name);
    SCOPED_TRACE(name);
    const std::string begin = name + ":group=2" + others_of(*kind) + ",";
    // The number includes the window.
    const std::string window = kind->budget.param == "capacity" || name == "r-kv" ? "window=3," : "";
    const auto policy = parse_policy(begin + window + std::string(kind->budget.param) + "=38");
    ASSERT_TRUE(policy.ok()) << policy.error().to_string();
    const PolicyTraits traits = kind->traits(policy.value().choice);
    const std::shared_ptr<const Recording> recording =
        traits.keys || traits.values ? std::shared_ptr<const Recording>(tensors) : rows;
    const std::int64_t beside =
        kind->budget.beside.empty() ? 0 : policy.value().choice.integer(kind->budget.beside);
    const LayerPlace place{.query_heads = heads, .group = 2, .prompt = 20};
    for (const std::int64_t tokens : {5, 9, 16}) {
      const auto given = with_budget(policy.value(), std::array{tokens}, false, place);
      ASSERT_TRUE(given.ok()) << given.error().to_string();
      const auto written = parse_policy(begin + window + std::string(kind->budget.param) + "=" +
                                        std::to_string(tokens - beside));
      ASSERT_TRUE(written.ok());
      EXPECT_EQ(sets_of(*recording, given.value(), 20, 0), sets_of(*recording, written.value(), 20, 0))
          << tokens;
    }
    // By head: each head acts as if the others had its budget too.
    const std::array<std::int64_t, 2> apart{6, 11};
    const auto by_head = with_budget(policy.value(), apart, true, place);
    // Only these policies see a whole layer.
    const std::set<std::string> of_layers{"tova", "ada-kv"};
    EXPECT_EQ(by_head.ok(), !of_layers.contains(name));
    if (!by_head.ok()) {
      EXPECT_NE(by_head.error().message.find("selects tokens per layer"), std::string::npos);
      continue;
    }
    const auto found = sets_of(*recording, by_head.value(), 20, 0);
    for (std::size_t head = 0; head < apart.size(); ++head) {
      const auto alike = sets_of(
          *recording, with_budget(policy.value(), std::array{apart[head]}, false, place).value(), 20, 0);
      for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i][head], alike[i][head]) << i;
    }
    // A layer without a budget loses nothing.
    const auto whole =
        with_budget(policy.value(), grants_of({.tokens = {{1}}, .whole = {true}}).tokens[0], false, place);
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    for (const Sets& sets : sets_of(*recording, whole.value(), 20, 0))
      for (const auto& set : sets) EXPECT_EQ(static_cast<std::size_t>(set.back()) + 1, set.size());
  }
  EXPECT_GE(policies_tried, 14);
}

/// The numbers that runs take from lengths are those that the policy with that budget states; fewer tokens than its
/// minimum are refused.
TEST(Budgeted, LengthsAreThoseOfThePolicyWithItsBudget) {
  const LayerPlace place{.query_heads = 4, .group = 2, .prompt = 20};
  int counted = 0, positional = 0;
  for (const PolicyKind* kind : policies()) {
    if (kind->budget.param.empty()) continue;
    SCOPED_TRACE(kind->descriptor.name);
    std::string text = std::string(kind->descriptor.name) + ":" + std::string(kind->budget.param) + "=40";
    for (const Param& param : kind->descriptor.params)
      if (param.name == "drop") text += ",drop=1";
    const auto policy = parse_policy(text + others_of(*kind));
    ASSERT_TRUE(policy.ok()) << policy.error().to_string();
    const std::int64_t least = least_budget(policy.value());
    EXPECT_GE(least, 1);
    const std::array fewer{least - 1};
    const LayerPlace longer{.query_heads = 4, .group = 2, .prompt = 4096};  // than any that is retained whole
    EXPECT_FALSE(least > 1 && with_budget(policy.value(), fewer, false, longer).ok());
    const PolicyTraits own = kind->traits(policy.value().choice);
    for (const std::int64_t tokens :
         {least, least + 3, std::int64_t{19}, std::int64_t{20}, std::int64_t{500}}) {
      if (tokens < least) continue;
      const auto given = with_budget(policy.value(), std::array{tokens}, false, place);
      ASSERT_TRUE(given.ok()) << tokens << ": " << given.error().to_string();
      const PolicyTraits traits = kind->traits(given.value().choice);
      ASSERT_EQ(traits.count.has_value(), own.count.has_value());
      ASSERT_EQ(traits.interval.has_value(), own.interval.has_value());
      if (own.count) {
        EXPECT_EQ(*traits.count, count_with_budget(policy.value(), tokens, place.prompt)) << tokens;
      }
      if (own.interval && !traits.keeps_everything()) {
        const KeptInterval keep = interval_with_budget(policy.value(), tokens);
        EXPECT_EQ(traits.interval->sink, keep.sink) << tokens;
        EXPECT_EQ(traits.interval->recent, keep.recent) << tokens;
        ++positional;
      }
      counted += own.count ? 1 : 0;
    }
  }
  EXPECT_GE(counted, 30);
  EXPECT_GE(positional, 8);
}

/// The number that follows from lengths, if it rises and falls, is what a replay keeps, after every token.
TEST(CountAt, IsWhatAReplayKeeps) {
  constexpr int kTokens = 90;
  const auto guarded = [](Random& r) {
    return ",sink=" + std::to_string(r.between(0, 12)) + ",recent=" + std::to_string(r.between(0, 30));
  };
  const auto every = [](Random& r) { return ",every=" + std::to_string(r.between(1, 30)); };
  const auto again = [&](std::string_view name) {
    return [&, name](Random& r) {
      return std::string(name) + ":budget=" + std::to_string(r.between(1, 40)) + every(r);
    };
  };
  const std::map<std::string_view, std::function<std::string(Random&)>> written{
      {"seed-ring",
       [](Random& r) {
         return "seed-ring:window=" + std::to_string(r.between(1, 50)) +
                ",chunk=" + std::to_string(r.between(1, 40));
       }},
      {"observed-attention",
       [](Random& r) { return "observed-attention:ratio=" + std::to_string(r.unit()); }},
      {"keyformer", [](Random& r) { return "keyformer:kv_percent=" + std::to_string(r.between(0, 100)); }},
      {"scissorhands",
       [](Random& r) {
         return "scissorhands:budget=" + std::to_string(r.between(1, 40)) +
                ",recent=" + std::to_string(r.between(0, 40)) + ",drop=" + std::to_string(r.between(0, 20));
       }},
      {"finch",
       [](Random& r) {
         return "finch:window=" + std::to_string(r.between(1, 20)) + ",ratio=" + std::to_string(r.unit());
       }},
      {"seed-proportional",
       [&](Random& r) {
         return "seed-proportional:budget=" + std::to_string(r.between(1, 40)) +
                ",fraction=" + std::to_string(r.unit()) + guarded(r);
       }},
      {"seed-dynamic",
       [&](Random& r) {
         const std::string least = std::to_string(r.between(1, 20));
         return "seed-dynamic:" +
                (r.between(0, 1) == 0
                     ? "by=phase,budget=" + std::to_string(r.between(1, 60)) + ",later=" + least
                     : "by=length,share=" + std::to_string(r.unit()) + ",least=" + least +
                           ",most=" + std::to_string(r.between(20, 60))) +
                guarded(r);
       }},
      {"knorm", again("knorm")},
      {"keydiff", again("keydiff")},
      {"lagkv", again("lagkv")},
      {"r-kv",
       [&](Random& r) { return "r-kv:window=4,budget=" + std::to_string(r.between(5, 40)) + every(r); }}};
  std::map<std::string_view, int> counted;
  for (const PolicyKind* kind : policies()) {
    if (!written.contains(kind->descriptor.name)) {
      std::string text(kind->descriptor.name);
      char separator = ':';
      for (const Param& param : kind->descriptor.params) {
        if (param.kind == ParamKind::kText || !(param.fallback.empty() || param.name == "every")) continue;
        text += separator + std::string(param.name) + "=8";
        separator = ',';
      }
      const auto policy = parse_policy(text);
      if (policy.ok()) {
        EXPECT_EQ(kind->traits(policy.value().choice).count_at, nullptr) << text;
      }
      continue;
    }
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      Random random(seed, "count at");
      const std::string text = written.at(kind->descriptor.name)(random);
      const std::int64_t prompt = random.between(1, kTokens);
      SCOPED_TRACE(text + ", prompt " + std::to_string(prompt));
      const auto policy = parse_policy(text);
      ASSERT_TRUE(policy.ok()) << policy.error().to_string();
      const PolicyTraits traits = kind->traits(policy.value().choice);
      if (traits.count_at == nullptr) continue;  // `count` or `interval` says it; or nothing stays
      ++counted[kind->descriptor.name];
      std::shared_ptr<const Recording> recording;
      if (traits.keys) {
        recording = std::make_shared<RecordedTensors>(random_tensors(random, 1, 1, kTokens, false));
      } else {
        recording = recording_of({random_rows(random, 1, kTokens, RowKind::kSmooth)});
      }
      std::int64_t tokens = prompt;
      for (const Sets& sets : sets_of(*recording, policy.value(), prompt, 0)) {
        const core::KeptCount count = traits.count_at(policy.value().choice, prompt, tokens);
        ASSERT_EQ(count.of(tokens, prompt), std::ssize(sets[0])) << tokens;
        ++tokens;
      }
      EXPECT_EQ(tokens, kTokens + 1);
    }
  }
  for (const auto& [name, of] : written) EXPECT_GE(counted[name], 30) << name;
}

TEST(Budgeted, RefusesWhatCannotBeGiven) {
  const LayerPlace place{.query_heads = 2, .group = 1, .prompt = 20};
  const auto error = [&](const std::string& text, std::vector<std::int64_t> tokens, bool by_head) {
    const auto given = with_budget(parse_policy(text).value(), tokens, by_head, place);
    return given.ok() ? std::string() : given.error().to_string();
  };
  EXPECT_NE(error("full", {4}, false).find("has no parameter for the number of tokens"), std::string::npos);
  EXPECT_NE(error("keyformer", {4}, false).find("has no parameter for the number of tokens"),
            std::string::npos);
  EXPECT_NE(error("seed-dynamic:budget=4", {4}, false)
                .find("\"seed-dynamic\" changes its number of tokens while it runs, so no budget"),
            std::string::npos);
  EXPECT_NE(error("h2o:hh=2,recent=6", {4}, false).find("at least 6 tokens"), std::string::npos);
  EXPECT_NE(error("snapkv:window=8,capacity=9", {4}, false).find("window of 8"), std::string::npos);
  EXPECT_NE(error("tova:budget=4", {4, 5}, true).find("selects tokens per layer"), std::string::npos);
  EXPECT_NE(error("ada-kv:window=2,capacity=9", {4, 5}, true).find("selects tokens per layer"),
            std::string::npos);
  EXPECT_NE(error("h2o:hh=2,recent=1", {4, 5, 6}, true).find("each of 2 KV heads"), std::string::npos);
  EXPECT_EQ(error("h2o:hh=2,recent=1", {4, 5}, true), "");
  // A prompt of 20 that is kept whole, although the window would hold more.
  EXPECT_EQ(error("snapkv:window=32,capacity=64", {20}, false), "");
}

}  // namespace
}  // namespace kvplan::attention
