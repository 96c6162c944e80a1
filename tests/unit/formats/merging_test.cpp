// Dropped tokens are merged into kept ones: compared with slow second implementations on random layers, by hand, and
// with policies on the bundled recording.
#include <gtest/gtest.h>

#include "simulator/formats/evaluation.h"
#include "simulator/io/attention_json.h"
#include "tests/unit/formats/support.h"

namespace kvplan::formats::test {
namespace {

using Indices = std::vector<std::int32_t>;

/// A head by its definition: the stored numbers, and the attention that each token got.
struct Head {
  Rows keys, values;
  Vector scores;
};

double product(const Vector& a, const Vector& b) {
  double out = 0;
  for (std::size_t c = 0; c < a.size(); ++c) out += a[c] * b[c];
  return out;
}
double length(const Vector& x) {
  return std::sqrt(product(x, x));
}
double cosine(const Vector& a, const Vector& b) {
  return length(a) * length(b) > 0 ? product(a, b) / (length(a) * length(b)) : 0.0;
}
Vector halves(const Vector& x) {
  static const std::vector<double> kHalves = values_of(kBinary16);
  Vector out;
  for (const double v : x) out.push_back(nearest(kHalves, v));
  return out;
}
bool goes(const Indices& gone, std::size_t i) {
  return std::find(gone.begin(), gone.end(), static_cast<std::int32_t>(i)) != gone.end();
}

template <class Rest>
std::vector<Rest> without(const std::vector<Rest>& all, const Indices& gone) {
  std::vector<Rest> out;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!goes(gone, i)) out.push_back(all[i]);
  return out;
}

/// With merge=expected.
void cam(Head& head, const Indices& gone, std::size_t spread) {
  const Rows before = head.values;
  std::vector<bool> taken(before.size(), false);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!goes(gone, i)) continue;
    std::vector<std::size_t> takers;
    for (std::size_t k = i + 1; k < before.size() && takers.size() < spread; ++k)
      if (!goes(gone, k)) takers.push_back(k);
    double mean = 0;
    for (const std::size_t k : takers) mean += head.scores[k] / static_cast<double>(takers.size());
    const double share = head.scores[i] == 0 ? 0 : std::min(1.0, head.scores[i] / mean);
    for (const std::size_t k : takers)
      for (std::size_t c = 0; c < before[i].size(); ++c) {
        head.values[k][c] += share * before[i][c] / static_cast<double>(takers.size());
        taken[k] = taken[k] || share > 0;
      }
  }
  for (std::size_t k = 0; k < before.size(); ++k)
    if (taken[k]) head.values[k] = halves(head.values[k]);
}

struct Nearest {
  std::size_t at;
  double cosine;
};
std::vector<Nearest> nearest_of(const Head& head, const Indices& gone) {
  std::vector<Nearest> out;
  for (const std::int32_t i : gone) {
    Nearest best{0, -2};
    for (std::size_t k = 0; k < head.keys.size(); ++k) {
      const double now = goes(gone, k) ? -3 : cosine(head.keys[static_cast<std::size_t>(i)], head.keys[k]);
      if (now > best.cosine) best = {k, now};
    }
    out.push_back(best);
  }
  return out;
}

/// `threshold`: that of rule=d2o; empty before the first one. Returns false if rounding decides what is merged.
bool merge(std::vector<Head>& heads, const std::vector<Indices>& gone, const std::string& rule,
           std::optional<double>& threshold) {
  std::vector<std::vector<Nearest>> targets;
  std::size_t most = 0;
  double all = 0, count = 0;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    targets.push_back(nearest_of(heads[h], gone[h]));
    most = std::max(most, targets.back().size());
    for (const Nearest& target : targets.back()) {
      all += target.cosine;
      ++count;
    }
  }
  if (count == 0) return true;
  threshold = threshold ? 0.25 * *threshold + 0.75 * (all / count) : all / count;
  bool clear = true;
  for (std::size_t i = 0; i < most; ++i) {
    double mean = 0, of = 0;
    for (const auto& each : targets)
      if (i < each.size()) {
        mean += each[i].cosine;
        ++of;
      }
    clear = clear && (rule != "d2o" || count == 1 || std::fabs(mean / of - *threshold) > 1e-9);
    if (rule == "d2o" && mean / of < *threshold)
      for (auto& each : targets)
        if (i < each.size()) each[i].at = SIZE_MAX;
  }
  for (std::size_t h = 0; h < heads.size(); ++h)
    for (const bool keys : {true, false}) {
      if (keys && rule == "values") continue;
      Rows& rows = keys ? heads[h].keys : heads[h].values;
      const Rows before = rows;
      for (std::size_t k = 0; k < rows.size(); ++k) {
        double weights = 1;
        bool any = false;
        for (std::size_t i = 0; i < targets[h].size(); ++i) {
          if (targets[h][i].at != k) continue;
          const Vector& own = before[static_cast<std::size_t>(gone[h][i])];
          const double lengths = length(own) + length(before[k]);
          double weight = targets[h][i].cosine;
          if (rule == "weighted") weight = (weight + 1) / 2;
          if (rule == "values") weight = weight <= 0 || lengths == 0 ? 0 : weight * length(own) / lengths;
          for (std::size_t c = 0; c < own.size(); ++c)
            rows[k][c] += rule == "pivot" ? (own[c] + before[k][c]) / 2 : weight * own[c];
          weights += rule == "weighted" || rule == "values" ? weight : 1;
          any = true;
        }
        for (double& v : rows[k]) v /= weights;
        if (any) rows[k] = halves(rows[k]);
      }
    }
  return clear;
}

void expect_near(const Rows& expected, const Plane& plane) {
  const Rows found = stored_rows(plane);
  ASSERT_EQ(found.size(), expected.size());
  // One step of binary16, if the order of additions decides a rounding.
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::size_t c = 0; c < found[i].size(); ++c)
      ASSERT_NEAR(found[i][c], expected[i][c], std::max(std::fabs(expected[i][c]) * 0x1p-10, 1e-7)) << i;
}

TEST(FormatMerging, EveryDropIsWhatTheDefinitionGives) {
  std::size_t merged = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    Random random(seed, "merging");
    const auto heads = static_cast<std::int32_t>(random.between(1, 3));
    const Shape shape{.query_heads = heads, .kv_heads = heads, .key_size = 5, .value_size = 3};
    const std::int64_t prompt = random.between(2, 20);
    const std::int64_t tokens = prompt + random.between(1, 10);
    const Layer layer = random_layer(random, shape, tokens);
    const std::string rule = std::vector<std::string>{"cam", "d2o", "weighted", "pivot", "values"}[seed % 5];
    const std::size_t spread = random.below(4) + 1;
    const std::string text = rule == "cam" ? "cam:merge=expected,spread=" + std::to_string(spread)
                                           : "merge:smoothing=0.25,rule=" + rule;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text);
    const auto codec = codec_of(text, shape, prompt);
    std::vector<Head> expected(static_cast<std::size_t>(heads));
    std::optional<double> threshold;
    const auto add = [&](std::int64_t begin, std::int64_t end) {
      append(*codec, layer, begin, end);
      for (std::size_t h = 0; h < expected.size(); ++h) {
        for (std::int64_t t = begin; t < end; ++t) {
          expected[h].keys.push_back(layer.keys[h][static_cast<std::size_t>(t)]);
          expected[h].values.push_back(layer.values[h][static_cast<std::size_t>(t)]);
        }
        expected[h].scores.resize(expected[h].keys.size());
        Vector weights(expected[h].keys.size());
        for (double& weight : weights) weight = random.chance(1, 6) ? 0.0 : random.unit();
        if (codec->weight_use() == WeightUse::kNone) continue;
        codec->attended(static_cast<std::int32_t>(h), weights);
        for (std::size_t i = 0; i < weights.size(); ++i) expected[h].scores[i] += weights[i];
      }
    };
    const auto drop = [&](std::uint64_t of) {
      std::vector<Indices> gone(expected.size());
      for (std::size_t h = 0; h < expected.size(); ++h)
        for (std::size_t i = 0; i + 1 < expected[h].keys.size(); ++i)
          if (random.below(of) == 0) gone[h].push_back(static_cast<std::int32_t>(i));
      codec->drop(gone);
      const bool clear = rule == "cam" || merge(expected, gone, rule, threshold);
      for (std::size_t h = 0; h < expected.size(); ++h) {
        if (rule == "cam") cam(expected[h], gone[h], spread);
        expected[h] = {without(expected[h].keys, gone[h]), without(expected[h].values, gone[h]),
                       without(expected[h].scores, gone[h])};
        const auto head = static_cast<std::int32_t>(h);
        if (clear) {
          expect_near(expected[h].keys, codec->plane(Side::kKeys, head));
          expect_near(expected[h].values, codec->plane(Side::kValues, head));
        }
        if (::testing::Test::HasFailure()) return;
        // Later steps compare with the stored numbers, not with a rounding that went the other way.
        expected[h].keys = stored_rows(codec->plane(Side::kKeys, head));
        expected[h].values = stored_rows(codec->plane(Side::kValues, head));
        merged += static_cast<std::size_t>(codec->plane(Side::kValues, head).writes());
      }
    };
    add(0, prompt);
    drop(2);
    codec->end_prompt({.tokens = prompt, .heads = layer.queries});
    for (std::int64_t t = prompt; t < tokens && !HasFailure(); ++t) {
      add(t, t + 1);
      codec->end_step();
      drop(5);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(merged, 1000U);
}

std::unique_ptr<Codec> one_head(const std::string& text, const Rows& keys, const Rows& values) {
  const Shape shape{.query_heads = 1,
                    .kv_heads = 1,
                    .key_size = static_cast<std::int32_t>(keys.front().size()),
                    .value_size = static_cast<std::int32_t>(values.front().size())};
  const auto tokens = static_cast<std::int64_t>(keys.size());
  auto codec = codec_of(text, shape, tokens);
  append(*codec, {.shape = shape, .keys = {keys}, .values = {values}, .queries = {}}, 0, tokens);
  return codec;
}

TEST(FormatCam, ByHand) {
  const auto codec = one_head("cam:spread=2,merge=expected", {{1}, {1}, {1}, {1}}, {{1}, {2}, {3}, {4}});
  codec->attended(0, Vector{0.125, 0.25, 0.25, 0.5});
  codec->drop(std::vector<Indices>{{0}});
  // Half of the mean over the next two: half of the value over two.
  EXPECT_EQ(stored_rows(codec->plane(Side::kValues, 0)), Rows({{2.25}, {3.25}, {4}}));
  EXPECT_EQ(stored_rows(codec->plane(Side::kKeys, 0)), Rows({{1}, {1}, {1}}));
  codec->drop(std::vector<Indices>{{2}});
  EXPECT_EQ(stored_rows(codec->plane(Side::kValues, 0)), Rows({{2.25}, {3.25}})) << "none is behind it";
  codec->drop(std::vector<Indices>{{0}});
  EXPECT_EQ(stored_rows(codec->plane(Side::kValues, 0)), Rows({{5.5}})) << "as much attention: all of it";
}

/// Every draw merges all or nothing, as often as the share says.
TEST(FormatCam, ChanceIsTheShare) {
  int merged = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    const auto codec = one_head("cam:spread=1,seed=" + std::to_string(seed), {{1}, {1}}, {{1}, {2}});
    codec->attended(0, Vector{0.25, 1});
    codec->drop(std::vector<Indices>{{0}});
    const double value = codec->plane(Side::kValues, 0).stored(0)[0];
    ASSERT_TRUE(value == 2 || value == 3);
    merged += value == 3 ? 1 : 0;
  }
  EXPECT_NEAR(merged, 500, 80);
}

TEST(FormatMerge, ByHand) {
  const Rows keys{{2, 0}, {0, 3}, {4, 0}};
  const Rows values{{6, 0}, {1, 1}, {2, 8}};
  const auto after = [&](const std::string& rule) {
    const auto codec = one_head("merge:rule=" + rule, keys, values);
    codec->drop(std::vector<Indices>{{0}});
    return std::pair(stored_rows(codec->plane(Side::kKeys, 0)), stored_rows(codec->plane(Side::kValues, 0)));
  };
  EXPECT_EQ(after("d2o"), std::pair(Rows({{0, 3}, {3, 0}}), Rows({{1, 1}, {4, 4}})));
  EXPECT_EQ(after("weighted"), after("d2o"))
      << "a cosine of 1 is a weight of 1, and one token a number of one";
  EXPECT_EQ(after("pivot"), std::pair(Rows({{0, 3}, {3.5, 0}}), Rows({{1, 1}, {3, 6}})));
  const double weight = 6 / (6 + std::sqrt(68));
  const Rows blended = after("values").second;
  EXPECT_EQ(after("values").first, Rows({{0, 3}, {4, 0}}));
  EXPECT_NEAR(blended[1][0], (2 + 6 * weight) / (1 + weight), 4e-3);
  EXPECT_NEAR(blended[1][1], 8 / (1 + weight), 4e-3);
}

/// Numbers at the upper end of binary16 stay in its range.
TEST(FormatMerging, LargeNumbersStayFinite) {
  for (const std::string text : {"cam:spread=1,merge=expected", "merge", "merge:rule=pivot"}) {
    const auto codec = one_head(text, {{65504}, {65504}}, {{65504}, {65504}});
    if (codec->weight_use() != WeightUse::kNone) codec->attended(0, Vector{1, 1});
    codec->drop(std::vector<Indices>{{0}});
    EXPECT_EQ(stored_rows(codec->plane(Side::kValues, 0)), Rows({{65504}})) << text;
  }
}

Evaluation evaluated(const std::string& format, const std::string& policy) {
  static const auto kSample =
      io::open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva").value();
  EvaluationRequest request{.format = parse_format(format).value(), .prompt = 64, .sequence = 7, .layer = 3};
  request.evict = attention::parse_policy(policy).value();
  return evaluate(*kSample, request, []() -> Status { return Done{}; }).value();
}

/// Merging changes the stored numbers, not which tokens are stored or how many bytes they take.
TEST(SampleMerging, BehindPolicies) {
  for (const char* policy : {"full", "h2o:hh=12,recent=12", "snapkv:window=8,capacity=24",
                             "seed-lru:budget=20", "streaming-llm:sink=4,recent=20"}) {
    SCOPED_TRACE(policy);
    const Evaluation plain = evaluated("full", policy);
    for (const char* format : {"cam", "cam:score=newest,merge=expected", "merge", "merge:rule=values"}) {
      SCOPED_TRACE(format);
      const Evaluation found = evaluated(format, policy);
      EXPECT_EQ(found.retained, plain.retained);
      const std::int64_t sums = std::string(format) == "cam" ? found.steps.back().bytes.keys.index : 0;
      EXPECT_EQ(found.summary.final_bytes - sums, plain.summary.final_bytes);
      ASSERT_EQ(found.steps.size(), plain.steps.size());
      for (std::size_t t = 0; t < found.steps.size(); ++t) {
        EXPECT_EQ(found.steps[t].bytes.total() - found.steps[t].bytes.keys.index,
                  plain.steps[t].bytes.total());
        EXPECT_EQ(found.steps[t].attended_mass, plain.steps[t].attended_mass);
      }
      if (std::string(policy) == "full") {
        EXPECT_EQ(found.summary.stored_writes, 0);
        EXPECT_EQ(found.summary.mean_output_error, plain.summary.mean_output_error);
      } else {
        EXPECT_GT(found.summary.stored_writes, 0);
        EXPECT_NE(found.summary.mean_output_error, plain.summary.mean_output_error);
      }
    }
  }
}

}  // namespace
}  // namespace kvplan::formats::test
