// Properties of policies in addition to invariants_test.cpp: exact sizes and peaks, the effect of room for everything,
// order and equality of heads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/unit/attention/invariant_cases.h"
#include "tests/unit/attention/tensor_input.h"

namespace kvplan::attention {
namespace {

PolicyTraits traits_of(const std::string& text) {
  const PolicyChoice policy = parse_policy(text).value();
  return policy.kind->traits(policy.choice);
}

std::vector<Sets> states_of(const Outcome& found) {
  std::vector<Sets> out{found.after_prefill};
  out.insert(out.end(), found.retained.begin(), found.retained.end());
  return out;
}

std::string window_text(const std::string& name, int window, int capacity) {
  return name + ":window=" + number(window) + ",capacity=" + number(capacity);
}

/// With a budget of B a policy attends B + 1 tokens; if it makes room first, it attends B, also in the prompt.
TEST(PolicyInvariant, PeaksAreThoseOfTheStepModel) {
  int exact = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    for (const std::string& policy : all_bounded_policies(d.budget, d.prompt)) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + policy);
      const PolicyTraits traits = traits_of(policy);
      const EvaluationSummary found = run_policy(*recording, policy, d.prompt).summary;
      if (policy.rfind("seed-l", 0) == 0) {
        EXPECT_TRUE(traits.makes_room);
        EXPECT_EQ(found.peak_decode_entries, std::min(d.budget, d.tokens));
        EXPECT_EQ(found.peak_entries, std::min(d.budget, d.tokens));
        continue;
      }
      EXPECT_FALSE(traits.makes_room);
      EXPECT_LE(found.peak_decode_entries, d.budget + 1);
      if (!traits.count) continue;
      ++exact;
      EXPECT_EQ(found.peak_decode_entries, std::min(d.budget + 1, d.tokens));
      EXPECT_EQ(found.peak_entries, std::max(d.prompt, std::min(d.budget + 1, d.tokens)));
    }
  }
  EXPECT_GE(exact, 5 * static_cast<int>(kSeeds));
}

/// For every policy that protects first or newest tokens, with a budget that holds them.
TEST(PolicyInvariant, ProtectedTokensStay) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    const std::string budget = number(d.budget + 5);
    struct Protects {
      std::string policy;
      std::int32_t sink, recent;
    };
    const Protects table[] = {
        {"streaming-llm:sink=2,recent=" + number(d.budget + 3), 2, d.budget + 3},
        {"h2o:hh=" + number(d.budget) + ",recent=5", 0, 5},
        {"random:sink=2,recent=3,budget=" + budget, 2, 3},
        {"seed-threshold:threshold=0.9,sink=2,recent=3", 2, 3},
        {"seed-proportional:fraction=0.9,sink=2,recent=3,budget=" + budget, 2, 3},
        {"scissorhands:drop=2,recent=4,budget=" + budget, 0, 4},
        {"expr:score=-position,sink=2,recent=3,budget=" + budget, 2, 3},
        {"keyformer:kv_percent=100,recent_percent=50", 0, d.prompt / 2},
        {"snapkv:window=3,capacity=" + budget, 0, 3},
        {"ada-kv:window=3,capacity=" + budget, 0, 3},
        {"finch:window=3", 0, d.prompt >= 6 ? 3 : 0}};  // of a shorter prompt fewer than 3 stay
    for (const Protects& it : table) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + it.policy);
      const std::vector<Sets> states = states_of(run_policy(*recording, it.policy, d.prompt));
      for (std::size_t i = 0; i < states.size(); ++i)
        for (const auto& set : states[i]) {
          const std::int32_t tokens = d.prompt + static_cast<std::int32_t>(i);
          for (std::int32_t p = 0; p < tokens; ++p) {
            if (p >= it.sink && p < tokens - it.recent) continue;
            EXPECT_TRUE(std::binary_search(set.begin(), set.end(), p)) << p << " of " << tokens;
          }
        }
    }
  }
}

/// Checks that everything is kept, seen and read as in the full cache, and takes its bytes, plus metadata.
void expect_full(const Recording& recording, const PolicyChoice& policy, std::int64_t prompt) {
  SCOPED_TRACE(policy.choice.to_string());
  const Outcome full = run_policy(recording, "full", prompt);
  const Outcome found = run_policy(recording, policy, prompt);
  const std::vector<Sets> states = states_of(found);
  for (std::size_t i = 0; i < states.size(); ++i)
    for (const auto& set : states[i]) {
      std::vector<std::int32_t> all(static_cast<std::size_t>(prompt) + i);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(set, all);
    }
  EXPECT_EQ(found.mass, full.mass);
  for (const auto& step : found.mass)
    for (const double mass : step) EXPECT_NEAR(mass, 1.0, 1e-12);
  ASSERT_EQ(found.error.size(), full.error.size());
  EXPECT_EQ(found.error, full.error);
  for (const auto& step : found.error)
    for (const double error : step) EXPECT_NEAR(error, 0.0, 1e-12);
  EXPECT_EQ(found.summary.bytes - found.summary.metadata_bytes, full.summary.bytes);
  EXPECT_EQ(full.summary.bytes, full.summary.full_bytes);
}

std::vector<std::string> roomy_policies(int tokens) {
  const std::string n = number(tokens);
  std::vector<std::string> out{"observed-attention:ratio=0",
                               "finch:window=2,ratio=0",
                               "knorm:budget=" + n,
                               "keydiff:every=3,budget=" + n,
                               "lagkv:every=2,sink=1,lag=3,budget=" + n,
                               "r-kv:window=2,every=2,budget=" + n,
                               "expected-attention:budget=" + n,
                               "seed-ring:chunk=3,window=" + n,
                               "seed-pyramid-select:budget=" + n,
                               "seed-threshold:threshold=0",
                               "seed-dynamic:budget=" + n + ",least=" + n,
                               "h2o-masked:hh=" + n + ",recent=" + n,
                               "oracle-exact:budget=" + n,
                               "oracle-topk:k=" + n};
  for (const char* name : {"snapkv", "pyramidkv", "critical-kv"}) out.push_back(window_text(name, 2, tokens));
  // Its code keeps everything only if there is room for more: with exactly enough, rounding may lose a token.
  out.push_back(window_text("ada-kv", 2, tokens + 1));
  return out;
}

TEST(PolicyInvariant, RoomForEverythingIsTheFullCache) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed, "room");
    const auto heads = static_cast<std::int32_t>(1 + random.below(3));
    const auto group = static_cast<std::int32_t>(1 + random.below(2));
    const int tokens = 4 + static_cast<int>(random.below(40));
    std::vector<LayerTensors> layers(2, random_tensors(random, heads, group, tokens, false));
    for (LayerTensors& layer : layers) add_output_weights(random, 3, layer);
    const RecordedTensors recording(std::move(layers));
    const std::int64_t prompt = random.between(1, tokens);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", prompt " + std::to_string(prompt) + " of " +
                 std::to_string(tokens));
    for (const std::string& policy : roomy_policies(tokens))
      expect_full(recording, parse_policy(policy).value(), prompt);
    // Heads that do not keep everything keep as many tokens as there are.
    const HeadTable table(2, std::vector<double>(static_cast<std::size_t>(heads), 0.5));
    const std::string ends = ",sink=1,recent=" + number(tokens);
    for (const std::string& text :
         {"duo-attention:gates=here" + ends, "razor-attention:induction=here,echo=here" + ends}) {
      PolicyChoice policy = parse_policy(text).value();
      policy.tables = {table, table};
      if (text[0] == 'd') policy.tables.pop_back();
      expect_full(recording, policy, prompt);
    }
    // These have no budget beyond the prompt: they keep the prompt, and Keyformer keeps that number after it.
    const auto prompt_tokens = static_cast<std::size_t>(prompt);
    for (const Sets& sets : states_of(run_policy(recording, "keyformer:kv_percent=100", prompt)))
      for (const auto& set : sets) EXPECT_EQ(set.size(), prompt_tokens);
    for (const int layer : {0, 1})
      EXPECT_EQ(run_policy(recording, "pyramidinfer:ratio=1", prompt, layer).after_prefill[0].size(),
                prompt_tokens);
  }
}

/// SnapKV adds votes, Ada-KV takes their mean: with one KV head and no floor, they are the same policy.
TEST(PolicyInvariant, SumsAndMeansOfVotesChooseAlike) {
  for (std::uint64_t seed = 1; seed <= 2 * kSeeds; ++seed) {
    Random random(seed, "sum and mean");
    const bool ties = seed % 2 == 0;
    const int group = 1 << random.below(2);
    const int tokens = 8 + static_cast<int>(random.below(50));
    const auto recording =
        recording_of({random_rows(random, group, tokens, ties ? RowKind::kTies : RowKind::kSmooth)});
    // Powers of two, so that ties stay ties.
    const int window = ties ? 1 << random.below(3) : 1 + static_cast<int>(random.below(6));
    const std::string common =
        ":window=" + number(window) + ",capacity=" + number(window + static_cast<int>(random.below(20))) +
        ",kernel=" + (random.chance(1, 2) ? "1" : "3") + ",pooling=" + (random.chance(1, 2) ? "max" : "avg") +
        ",agg=" + (random.chance(1, 2) ? "max" : "mean") + ",group=" + number(group);
    const std::int64_t prompt = random.between(1, tokens);
    SCOPED_TRACE("seed " + std::to_string(seed) + common + ", prompt " + std::to_string(prompt));
    const Outcome sum = run_policy(*recording, "snapkv" + common, prompt);
    const Outcome mean = run_policy(*recording, "ada-kv" + common + ",floor=0", prompt);
    EXPECT_EQ(sum.after_prefill, mean.after_prefill);
    EXPECT_EQ(sum.retained, mean.retained);
  }
}

/// Policies in which nothing depends on a head's number.
std::vector<std::string> policies_of_heads(int budget, int prompt) {
  std::vector<std::string> out = all_bounded_policies(budget, prompt);
  std::erase_if(out, [](const std::string& policy) {
    return policy.rfind("random", 0) == 0 || policy.rfind("tova", 0) == 0;
  });
  const std::string b = number(budget);
  for (const std::string& policy :
       {std::string("observed-attention:ratio=0.4"), std::string("finch:window=3"),
        std::string("h2o-masked:hh=3,recent=2"), std::string("seed-threshold:threshold=0.1"),
        std::string("fastgen:recovery=0.8"), "oracle-topk:k=" + b, "oracle-exact:budget=" + b,
        "seed-pyramid-select:budget=" + b, "seed-dynamic:every=2,budget=" + b,
        std::string("keyformer-gptj:kv_percent=50"), window_text("snapkv", 2, budget),
        window_text("pyramidkv", 2, budget), window_text("ada-kv", 2, budget)})
    out.push_back(policy);
  return out;
}

/// Checks the result for exchanged KV heads: the first becomes the last.
void expect_turned(const Outcome& one, const Outcome& two) {
  const std::vector<Sets> before = states_of(one);
  const std::vector<Sets> after = states_of(two);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    Sets turned = before[i];
    ASSERT_FALSE(turned.empty());
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    EXPECT_EQ(turned, after[i]) << "state " << i;
  }
}

template <class Heads>
Heads turned(Heads heads, int by) {
  if (!heads.empty()) std::rotate(heads.begin(), heads.begin() + by, heads.end());
  return heads;
}

TEST(PolicyInvariant, HeadsThatChangePlacesTakeTheirSetsAlong) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Draw d = draw(seed);
    for (const int group : {1, 2}) {
      if (d.heads % group != 0) continue;
      for (const std::string& policy : policies_of_heads(d.budget, d.prompt)) {
        // Among equal scores of several heads the lower one is first.
        if (policy.rfind("ada-kv", 0) == 0 && seed % 3 == 0) continue;
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + policy + ", groups of " + number(group));
        expect_turned(run_policy(*recording_of({d.rows}, group), policy, d.prompt),
                      run_policy(*recording_of({turned(d.rows, group)}, group), policy, d.prompt));
      }
    }
  }
}

std::vector<std::string> policies_of_tensors(int budget) {
  const std::string b = number(budget);
  return {"knorm:budget=" + b,
          "keydiff:every=3,budget=" + b,
          "lagkv:sink=1,lag=3,every=4,budget=" + b,
          "r-kv:window=2,every=2,budget=" + number(budget + 1),
          "expected-attention:sink=1,budget=" + b,
          window_text("critical-kv", 2, budget)};
}

TEST(PolicyInvariant, HeadsOfTensorsThatChangePlacesTakeTheirSetsAlong) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed, "turned");
    const auto heads = static_cast<std::int32_t>(2 + random.below(2));
    const auto group = static_cast<std::int32_t>(1 + random.below(2));
    const int tokens = 8 + static_cast<int>(random.below(30));
    LayerTensors one = random_tensors(random, heads, group, tokens, false);
    add_output_weights(random, 3, one);
    LayerTensors two = one;
    two.queries = turned(one.queries, group);
    two.keys = turned(one.keys, 1);
    two.values = turned(one.values, 1);
    two.output_weights = turned(one.output_weights, group);
    const std::int64_t prompt = random.between(1, tokens);
    for (const std::string& policy : policies_of_tensors(2 + static_cast<int>(random.below(12)))) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + policy);
      expect_turned(run_policy(RecordedTensors(one), policy, prompt),
                    run_policy(RecordedTensors(two), policy, prompt));
    }
    // Tables of heads are permuted with them.
    for (const char* text :
         {"duo-attention:gates=here,sink=1,recent=3",
          "razor-attention:induction=here,echo=here,sink=1,recent=3,induction_share=0.4"}) {
      PolicyChoice before = parse_policy(text).value();
      PolicyChoice after = before;
      for (int table = text[0] == 'd' ? 1 : 2; table > 0; --table) {
        std::vector<double> gates;
        for (std::int32_t h = 0; h < heads; ++h) gates.push_back(random.unit());
        before.tables.push_back({gates});
        after.tables.push_back({turned(gates, 1)});
      }
      expect_turned(run_policy(RecordedTensors(one), before, prompt),
                    run_policy(RecordedTensors(two), after, prompt));
    }
  }
}

/// A policy that decides for a layer does not depend on the order of its heads, and means of two heads do not depend on
/// the order of these heads.
TEST(PolicyInvariant, LayersDoNotMindTheOrderOfTheirHeads) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Draw d = draw(seed);
    if (d.heads != 2) continue;
    for (const std::string& policy :
         {"tova:budget=" + number(d.budget), "tova:agg=max,budget=" + number(d.budget),
          "expr:score=last,scope=layer,budget=" + number(d.budget), std::string("pyramidinfer:ratio=0.5")})
      EXPECT_EQ(run_policy(*recording_of({d.rows}), policy, d.prompt).retained,
                run_policy(*recording_of({turned(d.rows, 1)}), policy, d.prompt).retained)
          << "seed " << seed << ", " << policy;
  }
}

/// The mean and maximum of two query heads with equal rows are these rows, and each head alone keeps the same.
TEST(PolicyInvariant, GroupsOfEqualHeadsAreOneHead) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Draw d = draw(seed);
    Rows doubled;
    for (const auto& head : d.rows) doubled.insert(doubled.end(), 2, head);
    const auto recording = recording_of({doubled}, 2);
    for (const std::string& policy : policies_of_heads(d.budget, d.prompt)) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + policy);
      const std::vector<Sets> one = states_of(run_policy(*recording_of({d.rows}), policy, d.prompt));
      EXPECT_EQ(states_of(run_policy(*recording, policy + ",agg=mean", d.prompt)), one);
      EXPECT_EQ(states_of(run_policy(*recording, policy + ",agg=max", d.prompt)), one);
      if (policy.rfind("ada-kv", 0) == 0) continue;  // the heads of a layer share its budget
      const std::vector<Sets> each = states_of(run_policy(*recording, policy + ",group=1", d.prompt));
      ASSERT_EQ(each.size(), one.size());
      for (std::size_t i = 0; i < one.size(); ++i)
        for (std::size_t h = 0; h < each[i].size(); ++h)
          EXPECT_EQ(each[i][h], one[i][h / 2]) << "state " << i;
    }
  }
}

/// The smallest share is one token: as many tokens are dropped as are added.
TEST(PolicyInvariant, TheLeastShareDropsOneTokenAtATime) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    const std::string budget = "seed-proportional:budget=" + number(d.budget) + ",fraction=";
    const Outcome least = run_policy(*recording, budget + "0", d.prompt);
    const std::vector<Sets> states = states_of(least);
    for (std::size_t i = 0; i < states.size(); ++i)
      for (const auto& set : states[i])
        EXPECT_EQ(static_cast<int>(set.size()), std::min(d.budget, d.prompt + static_cast<int>(i)))
            << "seed " << seed;
    // The same holds for every share at which fewer than two of n tokens are dropped.
    const std::string small = std::to_string(1.9 / std::max(d.prompt, d.budget + 1));
    EXPECT_EQ(states, states_of(run_policy(*recording, budget + small, d.prompt))) << "seed " << seed;
  }
}

/// -1.5 H < sum of capacities - H base <= 0.5 H, and no head has less than its floor.
TEST(PolicyInvariant, AdaKvLosesLittleByRounding) {
  int compressed = 0;
  for (std::uint64_t seed = 1; seed <= 4 * kSeeds; ++seed) {
    Random random(seed, "capacities");
    const int heads = 1 + static_cast<int>(random.below(8));
    const int tokens = 10 + static_cast<int>(random.below(60));
    const int window = 1 + static_cast<int>(random.below(4));
    const int base = static_cast<int>(random.below(25));
    const int tenths = static_cast<int>(random.below(11));
    const auto recording =
        recording_of({random_rows(random, heads, tokens, seed % 2 == 0 ? RowKind::kTies : RowKind::kSmooth)});
    const std::string text = window_text("ada-kv", window, window + base) +
                             ",floor=" + std::to_string(tenths / 10.0) +
                             (random.chance(1, 2) ? ",normalize=true" : "");
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + text);
    const Outcome found = run_policy(*recording, text, tokens);
    if (base > tokens - window) continue;
    ++compressed;
    int sum = 0;
    for (const auto& set : found.after_prefill) {
      const int capacity = static_cast<int>(set.size()) - window;
      sum += capacity;
      EXPECT_GE(capacity, static_cast<int>(base * (tenths / 10.0)));
    }
    EXPECT_GT(sum - heads * base, -1.5 * heads);
    EXPECT_LE(sum - heads * base, 0.5 * heads);
  }
  EXPECT_GT(compressed, 100);
}

}  // namespace
}  // namespace kvplan::attention
