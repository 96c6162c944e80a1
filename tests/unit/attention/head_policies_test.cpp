// Policies that distinguish layers or heads by their input, not by rows: tables of heads, falling capacities.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/head_intervals.h"
#include "simulator/attention/trajectory.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/naive_layer.h"

namespace kvplan::attention {
namespace {

/// Sets of one layer after the last token; empty after an error.
Sets last_sets(const Recording& recording, const PolicyChoice& policy, std::int64_t prompt,
               std::int32_t layer) {
  Sets out;
  const auto done = evaluate(recording, {.policy = policy, .prompt = prompt, .layer = layer},
                             [&](const LayerReplay& replay) -> Status {
                               out.clear();
                               for (std::int32_t s = 0; s < replay.sets(); ++s)
                                 out.push_back(replay.reported(s));
                               return Done{};
                             });
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().to_string());
  return out;
}

PolicyChoice with_tables(const std::string& text, std::vector<HeadTable> tables) {
  PolicyChoice policy = parse_policy(text).value();
  policy.tables = std::move(tables);
  return policy;
}

HeadTable random_table(Random& random, std::size_t layers, std::size_t heads, bool ties) {
  HeadTable out(layers, std::vector<double>(heads));
  for (auto& layer : out)
    for (double& each : layer) each = ties ? static_cast<double>(random.below(4)) / 4 : random.unit();
  return out;
}

struct Case {
  std::shared_ptr<const Recording> recording;
  std::size_t layers;
  std::size_t heads;
  std::int64_t prompt;
};
Case random_case(Random& random) {
  Case out{.recording = nullptr, .layers = 1 + random.below(3), .heads = 1 + random.below(4), .prompt = 0};
  const int tokens = 20 + static_cast<int>(random.below(20));
  std::vector<Rows> layers;
  for (std::size_t l = 0; l < out.layers; ++l)
    layers.push_back(random_rows(random, static_cast<int>(out.heads), tokens, RowKind::kSmooth));
  out.recording = recording_of(layers);
  out.prompt = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(tokens)));
  return out;
}

void expect_whole_or_interval(const Case& it, const PolicyChoice& policy, std::int32_t layer,
                              const std::vector<bool>& whole) {
  const Sets found = last_sets(*it.recording, policy, it.prompt, layer);
  const Sets others =
      last_sets(*it.recording, parse_policy("streaming-llm:sink=2,recent=5").value(), it.prompt, layer);
  const Sets all = last_sets(*it.recording, parse_policy("full").value(), it.prompt, layer);
  for (std::size_t h = 0; h < whole.size(); ++h) EXPECT_EQ(found[h], whole[h] ? all[h] : others[h]) << h;
}

/// A head keeps everything unless its gate is among the lowest `sparsity` of the sorted gates.
TEST(DuoAttention, HeadsFromTheQuantileOnKeepEverything) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed, "duo");
    const Case it = random_case(random);
    const HeadTable gates = random_table(random, it.layers, it.heads, seed % 2 == 0);
    const double sparsity = static_cast<double>(random.below(11)) / 10;
    const PolicyChoice policy =
        with_tables("duo-attention:gates=here,sink=2,recent=5,sparsity=" + std::to_string(sparsity), {gates});
    std::vector<double> sorted;
    for (const auto& layer : gates) sorted.insert(sorted.end(), layer.begin(), layer.end());
    std::sort(sorted.begin(), sorted.end());
    const double at = sparsity * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const double part = at - static_cast<double>(low);
    const double threshold = part > 0 ? sorted[low] + (sorted[low + 1] - sorted[low]) * part : sorted[low];
    for (std::size_t layer = 0; layer < it.layers; ++layer) {
      std::vector<bool> whole;
      for (const double gate : gates[layer]) whole.push_back(sparsity < 1 && gate >= threshold);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", layer " + std::to_string(layer));
      expect_whole_or_interval(it, policy, static_cast<std::int32_t>(layer), whole);
    }
  }
}

TEST(RazorAttention, BestHeadsOfEachKindKeepEverything) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed, "razor");
    const Case it = random_case(random);
    const std::vector<HeadTable> tables{random_table(random, it.layers, it.heads, seed % 2 == 0),
                                        random_table(random, it.layers, it.heads, seed % 2 == 0)};
    const std::int64_t induction = random.between(0, 10);
    const std::int64_t echo = random.between(0, 10);
    const PolicyChoice policy =
        with_tables("razor-attention:induction=here,echo=here,sink=2,recent=5,induction_share=" +
                        std::to_string(static_cast<double>(induction) / 10) +
                        ",echo_share=" + std::to_string(static_cast<double>(echo) / 10),
                    tables);
    // A head is among the best ceil(share x all) unless that many are better, or equal and earlier.
    const auto best = [&](const HeadTable& table, std::int64_t tenths, std::size_t l, std::size_t h) {
      std::int64_t before = 0;
      for (std::size_t i = 0; i < it.layers; ++i)
        for (std::size_t j = 0; j < it.heads; ++j)
          if (table[i][j] > table[l][h] || (table[i][j] == table[l][h] && std::pair(i, j) < std::pair(l, h)))
            ++before;
      const auto all = static_cast<std::int64_t>(it.layers * it.heads);
      return before < (tenths * all + 9) / 10;
    };
    for (std::size_t layer = 0; layer < it.layers; ++layer) {
      std::vector<bool> whole;
      for (std::size_t h = 0; h < it.heads; ++h)
        whole.push_back(best(tables[0], induction, layer, h) || best(tables[1], echo, layer, h));
      SCOPED_TRACE("seed " + std::to_string(seed) + ", layer " + std::to_string(layer));
      expect_whole_or_interval(it, policy, static_cast<std::int32_t>(layer), whole);
    }
  }
}

/// For every policy with tables of heads, the tokens kept by each head without a replay are those that a replay keeps.
TEST(HeadTables, SayWhatIsKept) {
  const std::map<std::string_view, std::string> written{
      {"duo-attention", "duo-attention:gates=here,sink=2,recent=5"},
      {"razor-attention", "razor-attention:induction=here,echo=here,sink=2,recent=5,induction_share=0.4"}};
  for (const PolicyKind* kind : policies()) {
    const auto& params = kind->descriptor.params;
    if (kind->descriptor.name == "recorded" ||
        std::none_of(params.begin(), params.end(), [](const Param& p) { return p.names_file; }))
      continue;
    ASSERT_TRUE(written.contains(kind->descriptor.name)) << kind->descriptor.name;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Random random(seed, "kept by head");
      const Case it = random_case(random);
      const PolicyChoice policy = with_tables(
          written.at(kind->descriptor.name),
          {random_table(random, it.layers, it.heads, true), random_table(random, it.layers, it.heads, true)});
      ASSERT_TRUE(kind->traits(policy.choice).head_tables);
      const auto kept = intervals_by_head(policy, static_cast<std::int64_t>(it.layers),
                                          static_cast<std::int64_t>(it.heads));
      ASSERT_TRUE(kept.ok()) << kept.error().to_string();
      const std::int64_t tokens = it.recording->info().sequences[0].tokens;
      for (std::size_t layer = 0; layer < it.layers; ++layer) {
        Sets expected;
        for (const KeptInterval& keep : kept.value()[layer]) {
          expected.emplace_back();
          for (std::int32_t p = 0; p < tokens; ++p)
            if (keeps(keep, p, tokens)) expected.back().push_back(p);
        }
        EXPECT_EQ(last_sets(*it.recording, policy, it.prompt, static_cast<std::int32_t>(layer)), expected)
            << "seed " << seed << ", layer " << layer;
      }
    }
  }
}

TEST(HeadTables, HaveTheModelsShape) {
  const auto recording = recording_of({Rows{{{1}, {.5, .5}}}});
  const auto error = [&](std::vector<HeadTable> tables) {
    const auto found = evaluate(
        *recording, {.policy = with_tables("duo-attention:gates=here", std::move(tables)), .prompt = 1},
        [](const LayerReplay&) -> Status { return Done{}; });
    return found.ok() ? std::string() : found.error().to_string();
  };
  EXPECT_EQ(error({{{0.5}}}), "");
  EXPECT_NE(error({}).find("duo-attention:gates: expected its scores to be read first"), std::string::npos);
  EXPECT_NE(error({{{0.5}, {0.5}}}).find("each of 1 layers, found 2"), std::string::npos);
  EXPECT_NE(error({{{0.5, 0.5}}}).find("each of 1 KV heads in layer 0, found 2"), std::string::npos);
}

/// A head keeps the same tokens if its neighbours were not recorded: random draws, tables and expressions use its
/// number in the model.
TEST(MissingHeads, ChangeNothingOfTheOthers) {
  constexpr std::size_t kLayers = 3, kHeads = 4;
  constexpr std::int64_t kPrompt = 20;
  const std::vector<std::vector<std::int32_t>> here{{0, 1, 2, 3}, {1, 3}, {2}};
  Random random(3, "missing heads");
  for (const int group : {1, 2}) {
    std::vector<Rows> rows;
    for (std::size_t l = 0; l < kLayers; ++l)
      rows.push_back(random_rows(random, static_cast<int>(kHeads) * group, 45, RowKind::kSmooth));
    const auto whole = recording_of(rows, group);
    const auto some = only_heads(whole, here);
    const HeadTable gates = random_table(random, kLayers, kHeads, false);
    const HeadTable echo = random_table(random, kLayers, kHeads, false);
    std::vector<PolicyChoice> all{
        with_tables("duo-attention:gates=here,sink=2,recent=3", {gates}),
        with_tables("razor-attention:induction=here,echo=here,sink=2,recent=5,induction_share=0.4",
                    {gates, echo})};
    for (const char* text :
         {"random:budget=9", "expr:score=\"head==1?position:-position\",budget=5", "h2o:hh=4,recent=4",
          "seed-lfu:budget=9", "snapkv:window=4,capacity=9,kernel=3", "oracle-suffix:budget=9"})
      all.push_back(parse_policy(text).value());
    for (const PolicyChoice& policy : all)
      for (std::int32_t layer = 0; layer < static_cast<std::int32_t>(kLayers); ++layer) {
        SCOPED_TRACE(policy.choice.to_string() + ", group " + std::to_string(group) + ", layer " +
                     std::to_string(layer));
        const Outcome full = run_policy(*whole, policy, kPrompt, layer);
        const Outcome part = run_policy(*some, policy, kPrompt, layer);
        const auto& heads = here[static_cast<std::size_t>(layer)];
        ASSERT_EQ(part.retained.size(), full.retained.size());
        for (std::size_t step = 0; step < part.retained.size(); ++step) {
          ASSERT_EQ(part.retained[step].size(), heads.size());
          for (std::size_t h = 0; h < heads.size(); ++h)
            ASSERT_EQ(part.retained[step][h], full.retained[step][static_cast<std::size_t>(heads[h])]);
        }
        const std::int32_t worst = part.summary.min_mass_head;
        EXPECT_TRUE(std::find(heads.begin(), heads.end(), worst / group) != heads.end()) << worst;
      }
    const std::vector<std::int64_t> tokens{5, 6, 7, 8};
    for (std::int32_t layer = 0; layer < static_cast<std::int32_t>(kLayers); ++layer) {
      const PolicyChoice window = parse_policy("window:window=3").value();
      const auto granted = with_budget(window, tokens, true, place_of(some->info(), layer, group, kPrompt));
      ASSERT_TRUE(granted.ok()) << granted.error().to_string();
      const Sets found = last_sets(*some, granted.value(), kPrompt, layer);
      for (std::size_t h = 0; h < found.size(); ++h)
        EXPECT_EQ(std::ssize(found[h]), 5 + here[static_cast<std::size_t>(layer)][h]) << layer;
    }
  }
}

/// Query heads that each store their own keys and values are also heads of the model.
TEST(MissingHeads, OfSplitGroups) {
  Random random(4, "missing heads");
  const auto whole = recording_of({random_rows(random, 6, 40, RowKind::kSmooth)}, 2);
  const auto some = only_heads(whole, {{0, 2}});
  const Outcome full = run_policy(*whole, "random:budget=9,group=1", 20);
  const Outcome part = run_policy(*some, "random:budget=9,group=1", 20);
  for (std::size_t step = 0; step < part.retained.size(); ++step)
    EXPECT_EQ(part.retained[step], (Sets{full.retained[step][0], full.retained[step][1],
                                         full.retained[step][4], full.retained[step][5]}));
}

/// Tables cover the model's heads, layer by layer; for a layer that was not recorded the number of heads is unknown.
TEST(MissingHeads, TablesAreOfTheModelsLayers) {
  Random random(5, "missing heads");
  const auto whole = recording_of({random_rows(random, 2, 12, RowKind::kSmooth),
                                   random_rows(random, 2, 12, RowKind::kSmooth),
                                   random_rows(random, 2, 12, RowKind::kSmooth)});
  const auto some = only_heads(whole, {{0, 1}, {1}, {}});
  const auto error = [&](const HeadTable& gates, std::int32_t layer) {
    const auto found = evaluate(*some,
                                {.policy = with_tables("duo-attention:gates=here,sink=2,recent=3", {gates}),
                                 .prompt = 6,
                                 .layer = layer},
                                [](const LayerReplay&) -> Status { return Done{}; });
    return found.ok() ? std::string() : found.error().to_string();
  };
  for (const std::int32_t layer : {0, 1}) {
    EXPECT_EQ(error({{0.1, 0.9}, {0.1, 0.9}, {0.5}}, layer), "");
    EXPECT_EQ(error({{0.1, 0.9}, {0.9}, {0.5}}, layer),
              "duo-attention:gates: expected a number for each of 2 KV heads in layer 1, found 1");
  }
}

/// If all heads are needed, the error says which layer lacks which heads.
TEST(MissingHeads, AreNamed) {
  Random random(6, "missing heads");
  std::vector<Rows> rows;
  for (int l = 0; l < 3; ++l) rows.push_back(random_rows(random, 4, 12, RowKind::kSmooth));
  const auto some = only_heads(recording_of(rows), {{0, 1, 2, 3}, {1}, {0, 1, 2, 3}});
  const auto run = Trajectory::make(some, 0, 6, parse_policy("h2o:hh=2,recent=2").value());
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().to_string(), "layer 1: lacks KV heads 0, 2, 3: expected all heads of every layer");
  const auto above =
      evaluate(*some, {.policy = parse_policy("pyramidinfer").value(), .prompt = 6, .layer = 2},
               [](const LayerReplay&) -> Status { return Done{}; });
  ASSERT_FALSE(above.ok());
  EXPECT_EQ(above.error().to_string(),
            "pyramidinfer: layer 1, on which layer 2 depends under this policy, lacks KV heads 0, 2, 3");
  const auto budget = parse_component("d2o", kBudgetFamily, budget_descriptors()).value();
  const auto measured = budget_of(budget).measure(*some, 0, 6);
  ASSERT_FALSE(measured.ok());
  EXPECT_EQ(measured.error().to_string(),
            "d2o:scores: measures the attention of all heads, but layer 1 lacks KV heads 0, 2, 3");
  const auto layers = budget_of(budget).measure(*only_heads(recording_of(rows), {{0}, {}, {0}}), 0, 6);
  ASSERT_FALSE(layers.ok());
  EXPECT_EQ(layers.error().to_string(),
            "d2o:scores: measures the attention of all heads, but layer 0 lacks KV heads 1 to 3");
  const auto none = budget_of(budget).measure(*only_heads(recording_of(rows), {{0, 1, 2, 3}, {}, {0}}), 0, 6);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().to_string(),
            "d2o:scores: measures the attention of all layers, but a layer cannot be used: layer 1 of "
            "sequence 0 was not recorded; recorded layers: 0, 2");
}

/// SnapKV with the budget of its layer equals PyramidKV.
TEST(PyramidKv, IsSnapKvWithTheBudgetOfItsLayer) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed, "pyramid policy");
    const int tokens = 30 + static_cast<int>(random.below(30));
    std::vector<Rows> rows;
    const std::int64_t layers = random.between(2, 4);
    for (std::int64_t l = 0; l < layers; ++l)
      rows.push_back(random_rows(random, 2, tokens, RowKind::kSmooth));
    const auto recording = recording_of(rows);
    const std::int64_t prompt = random.between(1, tokens);
    const std::string shape = "window=" + std::to_string(random.between(1, 4)) +
                              ",capacity=" + std::to_string(random.between(5, 20));
    const std::string beta = ",beta=" + std::to_string(random.between(1, 6));
    const auto policy = parse_policy("pyramidkv:" + shape + beta);
    ASSERT_TRUE(policy.ok());
    const auto budget = parse_component("pyramidkv:" + shape + beta, kBudgetFamily, budget_descriptors());
    ASSERT_TRUE(budget.ok());
    const auto retained =
        budget_of(budget.value()).retained({.choice = budget.value(), .layers = layers, .prompt = prompt});
    ASSERT_TRUE(retained.ok());
    const Grants grants = grants_of(retained.value());
    const LayerPlace place{.query_heads = 2, .group = 1, .prompt = prompt};
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", layer " + std::to_string(layer));
      const auto& tokens_of = grants.tokens[static_cast<std::size_t>(layer)];
      // Both keep a prompt shorter than the window whole.
      if (tokens_of[0] < prompt) {
        const auto snap = with_budget(parse_policy("snapkv:" + shape).value(), tokens_of, false, place);
        ASSERT_TRUE(snap.ok()) << snap.error().to_string();
        EXPECT_EQ(last_sets(*recording, policy.value(), prompt, static_cast<std::int32_t>(layer)),
                  last_sets(*recording, snap.value(), prompt, static_cast<std::int32_t>(layer)));
      } else {
        EXPECT_EQ(
            last_sets(*recording, policy.value(), prompt, static_cast<std::int32_t>(layer)),
            last_sets(*recording, parse_policy("full").value(), prompt, static_cast<std::int32_t>(layer)));
      }
    }
  }
}

/// The capacity of a layer, including its window, as in the public code; -1: the prompt is kept whole.
int pyramid_capacity(int capacity, int window, int beta, int prompt, int layer, int layers) {
  if (prompt < capacity) return -1;
  const int base = capacity - window;
  if (prompt < 2 * base) return capacity;
  int least = base / beta;
  int most = 2 * base - least;
  if (most >= prompt - window) {
    most = prompt - window;
    least = 2 * base - most;
  }
  return most - layer * ((most - least) / (layers - 1)) + window;
}

/// Votes, their pooling and the kept tokens, also written out (naive_layer.h): groups, both reductions, ties.
TEST(PyramidKv, AgainstItsDefinition) {
  int compressed = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    Random random(seed, "pyramid by definition");
    const int group = 1 + static_cast<int>(random.below(3));
    const int heads = group * (1 + static_cast<int>(random.below(2)));
    const int tokens = 20 + static_cast<int>(random.below(50));
    const int layers = 2 + static_cast<int>(random.below(4));
    std::vector<Rows> rows;
    for (int l = 0; l < layers; ++l)
      rows.push_back(random_rows(random, heads, tokens, seed % 2 == 0 ? RowKind::kTies : RowKind::kSmooth));
    const auto recording = recording_of(rows);
    const int prompt = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(tokens)));
    const int window = 1 + static_cast<int>(random.below(4));
    const int capacity = window + 1 + static_cast<int>(random.below(20));
    const int beta = 1 + static_cast<int>(random.below(6));
    const std::string window_text = "window=" + std::to_string(window);
    const std::string others = std::string(",kernel=") + (random.chance(1, 2) ? "1" : "5") +
                               ",pooling=" + (random.chance(1, 2) ? "max" : "avg") +
                               ",agg=" + (random.chance(1, 2) ? "max" : "mean") +
                               ",group=" + std::to_string(group);
    const std::string text = "pyramidkv:" + window_text + others + ",capacity=" + std::to_string(capacity) +
                             ",beta=" + std::to_string(beta);
    for (int layer = 0; layer < layers; ++layer) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text + ", prompt " + std::to_string(prompt) +
                   " of " + std::to_string(tokens) + ", layer " + std::to_string(layer) + " of " +
                   std::to_string(layers));
      const Outcome found = run_policy(*recording, text, prompt, layer);
      const int own = pyramid_capacity(capacity, window, beta, prompt, layer, layers);
      compressed += own >= 0 && own < prompt ? 1 : 0;
      const std::string snapkv =
          "snapkv:" + window_text + others + ",capacity=" + std::to_string(own < 0 ? prompt + window : own);
      const Outcome expected =
          run_naive_layer(rows[static_cast<std::size_t>(layer)], naive_spec(snapkv), prompt);
      ASSERT_EQ(found.after_prefill, expected.after_prefill);
      ASSERT_EQ(found.retained, expected.retained);
    }
  }
  EXPECT_GT(compressed, 50);
}

TEST(FastGen, PositionsAreRead) {
  EXPECT_TRUE(parse_policy("fastgen:punctuation=3;1;2").ok());
  for (const char* wrong : {"fastgen:punctuation=1;", "fastgen:punctuation=x", "fastgen:punctuation=-1",
                            "fastgen:punctuation=1 2"})
    EXPECT_FALSE(parse_policy(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace kvplan::attention
