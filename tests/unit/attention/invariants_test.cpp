// Properties that must hold for every input; each case prints its seed.
#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>

#include "simulator/attention/kernels.h"
#include "simulator/attention/replay.h"
#include "tests/unit/attention/invariant_cases.h"

namespace kvplan::attention {
namespace {

bool contains(const std::vector<std::int32_t>& set, std::int32_t p) {
  return std::binary_search(set.begin(), set.end(), p);
}
bool subset(const std::vector<std::int32_t>& small, const std::vector<std::int32_t>& large) {
  return std::includes(large.begin(), large.end(), small.begin(), small.end());
}

TEST(Invariant, SizesAndNesting) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    for (const std::string& policy : all_bounded_policies(d.budget, d.prompt)) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + policy);
      const Outcome found = run_policy(*recording, policy, d.prompt);
      EXPECT_LE(found.summary.peak_decode_entries, d.budget + 1);
      for (std::size_t u = 0; u < found.after_prefill.size(); ++u) {
        auto before = found.after_prefill[u];
        for (std::size_t i = 0; i < found.retained.size(); ++i) {
          const auto t = static_cast<std::int32_t>(d.prompt) + static_cast<std::int32_t>(i);
          const auto& now = found.retained[i][u];
          EXPECT_LE(now.size(), static_cast<std::size_t>(d.budget));
          EXPECT_TRUE(std::is_sorted(now.begin(), now.end()));
          EXPECT_EQ(std::adjacent_find(now.begin(), now.end()), now.end());
          before.push_back(t);
          EXPECT_TRUE(subset(now, before)) << "t " << t;
          before = now;
        }
      }
    }
  }
}

TEST(Invariant, ProtectedTokensStay) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    const Outcome streaming = run_policy(*recording, streaming_text(d.budget), d.prompt);
    const Outcome h2o = run_policy(*recording, h2o_text(d.budget), d.prompt);
    for (std::size_t i = 0; i < streaming.retained.size(); ++i) {
      const auto t = static_cast<std::int32_t>(d.prompt) + static_cast<std::int32_t>(i);
      for (std::size_t u = 0; u < streaming.retained[i].size(); ++u) {
        EXPECT_TRUE(contains(streaming.retained[i][u], 0));
        for (std::int32_t back = 0; back < d.budget - d.budget / 2 && back <= t; ++back)
          EXPECT_TRUE(contains(h2o.retained[i][u], t - back)) << "t " << t;
      }
    }
  }
}

/// The number of tokens that stay, if the traits say that it follows from lengths.
TEST(Invariant, CountsFollowFromLengths) {
  int counted = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    std::vector<std::string> policies = all_bounded_policies(d.budget, d.prompt);
    policies.push_back("snapkv:window=2,kernel=3,capacity=" + number(d.budget));
    for (const std::string& policy : policies) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + policy);
      const auto parsed = parse_policy(policy);
      const PolicyTraits traits = parsed.value().kind->traits(parsed.value().choice);
      if (!traits.count) continue;
      ++counted;
      const Outcome found = run_policy(*recording, policy, d.prompt);
      for (std::size_t i = 0; i <= found.retained.size(); ++i)
        for (const auto& set : i == 0 ? found.after_prefill : found.retained[i - 1])
          EXPECT_EQ(static_cast<std::int64_t>(set.size()),
                    traits.count->of(d.prompt + static_cast<std::int64_t>(i), d.prompt));
    }
  }
  EXPECT_GE(counted, 7 * static_cast<int>(kSeeds));
}

/// Sizes for policies that act once, when the prompt ends, and for the one that only hides tokens.
TEST(Invariant, SizesWhereOnlyThePromptIsCompressed) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    const Outcome snap =
        run_policy(*recording, "snapkv:window=2,kernel=3,capacity=" + number(d.budget), d.prompt);
    const Outcome ada =
        run_policy(*recording, "ada-kv:window=1,floor=0,kernel=1,capacity=" + number(d.budget), d.prompt);
    const Outcome masked = run_policy(*recording, "h2o-masked:hh=3,recent=2", d.prompt);
    const auto most = static_cast<std::size_t>(std::min(d.budget, d.prompt));
    for (std::size_t i = 0; i <= snap.retained.size(); ++i) {
      std::size_t of_layer = 0;
      for (std::size_t u = 0; u < snap.after_prefill.size(); ++u) {
        const auto& kept = i == 0 ? snap.after_prefill : snap.retained[i - 1];
        EXPECT_EQ(kept[u].size(), most + i);
        of_layer += (i == 0 ? ada.after_prefill : ada.retained[i - 1])[u].size();
        const auto shown = (i == 0 ? masked.after_prefill : masked.retained[i - 1])[u].size();
        const std::size_t tokens = static_cast<std::size_t>(d.prompt) + i;
        EXPECT_EQ(shown, tokens > 5 ? 4U : tokens);
      }
      EXPECT_EQ(of_layer, (most + i) * snap.after_prefill.size());  // without a floor, nothing is rounded
    }
  }
}

TEST(Invariant, ThreeWaysToSayWindow) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    const std::string w = number(d.budget);
    const Outcome window = run_policy(*recording, "window:window=" + w, d.prompt);
    const Outcome streaming = run_policy(*recording, "streaming-llm:sink=0,recent=" + w, d.prompt);
    const Outcome h2o = run_policy(*recording, "h2o:hh=0,recent=" + w, d.prompt);
    EXPECT_EQ(window.retained, streaming.retained);
    EXPECT_EQ(window.retained, h2o.retained);
    EXPECT_EQ(window.after_prefill, h2o.after_prefill);
    EXPECT_EQ(window.mass, h2o.mass);
  }
}

TEST(Invariant, BudgetOfEverythingIsFull) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    const Outcome full = run_policy(*recording, "full", d.prompt);
    EXPECT_EQ(full.summary.bytes, full.summary.full_bytes);
    for (const std::string& policy : all_bounded_policies(2 * d.tokens, d.prompt)) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + policy);
      const Outcome found = run_policy(*recording, policy, d.prompt);
      EXPECT_EQ(found.summary.bytes - found.summary.metadata_bytes, full.summary.bytes);
      EXPECT_EQ(found.mass, full.mass);
      for (const auto& masses : found.mass)
        for (const double mass : masses) EXPECT_NEAR(mass, 1.0, 1e-12);
      for (std::size_t i = 0; i < found.retained.size(); ++i)
        EXPECT_EQ(found.retained[i][0], full.retained[i][0]);
    }
  }
}

TEST(Invariant, KeyformerAtTemperatureOneIsH2o) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    const int kept = d.prompt * 60 / 100;
    const int recent = kept * 30 / 100;
    const Outcome keyformer = run_policy(*recording, "keyformer:tau_init=1,tau_delta=0", d.prompt);
    const Outcome h2o =
        run_policy(*recording, "h2o:hh=" + number(kept - recent) + ",recent=" + number(recent), d.prompt);
    EXPECT_EQ(keyformer.retained, h2o.retained);
  }
}

TEST(Invariant, H2oAddsOneForEveryRow) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Draw d = draw(seed);
    auto policy = parse_policy(h2o_text(d.budget));
    ASSERT_TRUE(policy.ok());
    const auto h2o =
        policy.value().kind->make({.choice = policy.value().choice, .place = {.prompt = d.prompt}});
    std::vector<ResidentSet> sets{{.residents = Residents(1), .drop = {}}};
    Residents& residents = sets[0].residents;
    double lost = 0;
    for (std::int32_t t = 0; t < d.tokens; ++t) {
      residents.append(t);
      std::vector<double> row(static_cast<std::size_t>(residents.size()));
      const double sum = gather(d.rows[0][static_cast<std::size_t>(t)].data(), residents.positions(), row);
      const HeadRow head{.positions = residents.positions(), .weight = row, .divisor = sum};
      h2o->update(0, residents, {&head, 1});
      double held = 0;
      for (const double score : residents.column(0)) held += score;
      EXPECT_NEAR(held + lost, t + 1, 1e-9);
      if (t < d.prompt - 1) continue;
      h2o->evict(sets);
      for (const std::int32_t i : sets[0].drop) lost += residents.column(0)[static_cast<std::size_t>(i)];
      residents.drop(sets[0].drop);
      sets[0].drop.clear();
    }
  }
}

TEST(Invariant, ScoresTimesAConstantChangeNothing) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Draw d = draw(seed);
    Rows halved = d.rows;
    for (auto& head : halved)
      for (auto& row : head)
        for (double& weight : row) weight /= 2;
    // Except Keyformer: its powers of halves are rounded differently.
    std::vector<std::string> policies = all_bounded_policies(d.budget, 0);
    const std::string window = "window=2,capacity=" + number(d.budget);
    for (const std::string& policy :
         {h2o_text(d.budget) + ",score_rows=raw", "snapkv:" + window, "ada-kv:" + window,
          "ada-kv:normalize=true," + window, std::string("observed-attention:ratio=0.4"),
          std::string("finch:window=3"), "seed-pyramid-select:budget=" + number(d.budget)})
      policies.push_back(policy);
    for (const std::string& policy : policies)
      EXPECT_EQ(run_policy(*recording_of({d.rows}), policy, d.prompt).retained,
                run_policy(*recording_of({halved}), policy, d.prompt).retained)
          << policy;
  }
}

TEST(Invariant, HeadsAreInterchangeable) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Draw d = draw(seed);
    Rows turned = d.rows;
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    const Outcome one = run_policy(*recording_of({d.rows}), h2o_text(d.budget), d.prompt);
    const Outcome two = run_policy(*recording_of({turned}), h2o_text(d.budget), d.prompt);
    for (std::size_t i = 0; i < one.retained.size(); ++i)
      for (std::size_t u = 0; u < one.retained[i].size(); ++u)
        EXPECT_EQ(one.retained[i][(u + 1) % one.retained[i].size()], two.retained[i][u]);
    if (seed % 3 != 0 && d.heads <= 2) {  // two addends commute; the sum of more may be rounded differently
      const std::string tova = "tova:budget=" + number(d.budget);
      EXPECT_EQ(run_policy(*recording_of({d.rows}), tova, d.prompt).retained,
                run_policy(*recording_of({turned}), tova, d.prompt).retained);
    }
  }
}

TEST(Invariant, GroupsOfEqualHeadsReduceToOne) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Draw d = draw(seed);
    Rows doubled;
    for (const auto& head : d.rows) doubled.insert(doubled.end(), 2, head);
    const Outcome one = run_policy(*recording_of({d.rows}), h2o_text(d.budget), d.prompt);
    for (const char* agg : {",group=2,agg=mean", ",group=2,agg=max"}) {
      const Outcome two = run_policy(*recording_of({doubled}), h2o_text(d.budget) + agg, d.prompt);
      EXPECT_EQ(one.retained, two.retained) << agg;
      EXPECT_EQ(one.summary.bytes, two.summary.bytes);
    }
    // As recorded with two query heads per KV head.
    EXPECT_EQ(run_policy(*recording_of({doubled}, 2), h2o_text(d.budget), d.prompt).retained, one.retained);
  }
}

TEST(Invariant, TopKBoundsEveryPolicyThatReadsAsMuch) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    const Outcome bound = run_policy(*recording, "oracle-topk:k=" + number(d.budget + 1), d.prompt);
    const int attended = std::max(d.budget, d.prompt) + 1;
    const Outcome wide = run_policy(*recording, "oracle-topk:k=" + number(attended), d.prompt);
    for (const std::string& policy : all_bounded_policies(d.budget, d.prompt)) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + policy);
      const Outcome found = run_policy(*recording, policy, d.prompt);
      for (std::size_t i = 0; i < found.mass.size(); ++i)
        for (std::size_t h = 0; h < found.mass[i].size(); ++h) {
          EXPECT_LE(found.mass[i][h], bound.mass[i][h] + 1e-12) << "step " << i;
          EXPECT_LE(bound.mass[i][h], wide.mass[i][h] + 1e-12) << "step " << i;
        }
    }
  }
}

/// On inputs with persistently heavy tokens, over many sequences.
TEST(Invariant, AttentionBeatsTheLot) {
  double lot = 0;
  double h2o = 0;
  double tova = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed, "statistical");
    const auto recording = recording_of({random_rows(random, 2, 120, RowKind::kSmooth)});
    lot += *run_policy(*recording, "random:budget=16", 20).summary.mean_mass;
    h2o += *run_policy(*recording, h2o_text(16), 20).summary.mean_mass;
    tova += *run_policy(*recording, "tova:budget=16", 20).summary.mean_mass;
  }
  EXPECT_GT(h2o, lot);
  EXPECT_GT(tova, lot);
}

TEST(Invariant, ThresholdsAtTheirEnds) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    const Outcome nothing = run_policy(*recording, "seed-threshold:threshold=0", d.prompt);
    EXPECT_EQ(nothing.retained, run_policy(*recording, "full", d.prompt).retained);
    // Recorded rows do not depend on what was kept, so a higher threshold keeps a subset.
    const Outcome low = run_policy(*recording, "seed-threshold:score_rows=raw,threshold=0.05", d.prompt);
    const Outcome high = run_policy(*recording, "seed-threshold:score_rows=raw,threshold=0.1", d.prompt);
    for (std::size_t i = 0; i < low.retained.size(); ++i)
      for (std::size_t u = 0; u < low.retained[i].size(); ++u)
        EXPECT_TRUE(subset(high.retained[i][u], low.retained[i][u])) << "step " << i;
  }
}

TEST(Invariant, LargerBudgetsKeepMoreOfTheSame) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Draw d = draw(seed);
    const auto recording = recording_of({Rows{d.rows[0]}});  // one head: here larger budgets keep supersets
    for (const std::string name :
         {"window:window=", "tova:budget=", "streaming-llm:sink=1,recent=", "oracle-suffix:budget="}) {
      const Outcome small = run_policy(*recording, name + number(d.budget), d.prompt);
      const Outcome large = run_policy(*recording, name + number(d.budget + 3), d.prompt);
      for (std::size_t i = 0; i < small.retained.size(); ++i) {
        EXPECT_TRUE(subset(small.retained[i][0], large.retained[i][0])) << name << ", step " << i;
        EXPECT_LE(small.mass[i][0], large.mass[i][0] + 1e-12);
      }
    }
  }
}

TEST(Invariant, BytesAddUp) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    for (const std::string& base : bounded_policies(d.budget)) {
      for (const char* placement : {",placement=holes", ",placement=reuse"}) {
        const std::string policy = base + placement;
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + policy);
        const Outcome found = run_policy(*recording, policy, d.prompt);
        const bool tova = policy.substr(0, 4) == "tova";
        const bool h2o = policy.substr(0, 3) == "h2o";
        const Sets& last = found.retained.empty() ? found.after_prefill : found.retained.back();
        std::int64_t cells = 0;
        std::int64_t sets = 0;
        for (const auto& set : last) sets += static_cast<std::int64_t>(set.size());
        cells = sets * (tova ? d.heads : 1);
        const bool mapped = policy.find("=reuse") != std::string::npos && (tova || h2o);
        const std::int64_t metadata = (h2o ? 4 * cells : 0) + (mapped ? 4 * sets : 0);
        EXPECT_EQ(found.summary.entries, cells);
        EXPECT_EQ(found.summary.metadata_bytes, metadata);
        EXPECT_EQ(found.summary.bytes, cells * 2 * 64 * 2 + metadata);
        EXPECT_GE(found.summary.peak_bytes, found.summary.bytes);
      }
    }
  }
}

TEST(Invariant, SameInputSameBits) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Draw d = draw(seed);
    const auto recording = recording_of({d.rows});
    for (const std::string& policy : bounded_policies(d.budget)) {
      const Outcome one = run_policy(*recording, policy, d.prompt);
      const Outcome two = run_policy(*recording, policy, d.prompt);
      EXPECT_EQ(one.retained, two.retained);
      EXPECT_EQ(one.mass, two.mass);
    }
  }
}

}  // namespace
}  // namespace kvplan::attention
