// Formats that store several layers together: compared with slow second implementations on random layers, by hand, and
// on recordings of several layers through the evaluation.
#include <gtest/gtest.h>

#include "simulator/formats/evaluation.h"
#include "simulator/io/attention_json.h"
#include "tests/unit/formats/support.h"

namespace kvplan::formats::test {
namespace {

double length_of(const Vector& x) {
  long double sum = 0;
  for (const double v : x) sum += static_cast<long double>(v) * v;
  return static_cast<double>(std::sqrt(sum));
}

/// Computed with the library's functions in long doubles.
double angle_of(const Vector& a, const Vector& b) {
  long double product = 0;
  for (std::size_t c = 0; c < a.size(); ++c) product += static_cast<long double>(a[c]) * b[c];
  const long double lengths = static_cast<long double>(length_of(a)) * length_of(b);
  return lengths == 0 ? 0 : static_cast<double>(std::acos(std::clamp<long double>(product / lengths, -1, 1)));
}

/// The decoded value of `own` when it is merged: the point at t of the arc, with the length of `own`.
Vector merged(const Vector& lower, const Vector& upper, const Vector& own, double t) {
  const double angle = angle_of(lower, upper);
  const double sine = std::sin(angle);
  const bool line = sine < 1e-8;
  Vector out(own.size(), 0.0);
  const auto add = [&](const Vector& x, double share) {
    if (length_of(x) == 0) return;
    const double weight = line ? share : std::sin(share * angle) / sine;
    for (std::size_t c = 0; c < x.size(); ++c) out[c] += weight * x[c] / length_of(x);
  };
  add(lower, 1 - t);
  add(upper, t);
  const double length = length_of(out);
  for (double& v : out) v = length == 0 ? 0 : v / length * length_of(own);
  return out;
}

struct Pair {
  Shape shape;
  Layer lower;  ///< its own heads first, then those of the upper layer
  Layer upper;  ///< the upper layer's own heads first
};

Pair random_pair(Random& random, std::int64_t tokens) {
  const auto heads = static_cast<std::int32_t>(random.between(1, 3));
  const Shape shape{.query_heads = heads,
                    .kv_heads = heads,
                    .key_size = static_cast<std::int32_t>(random.between(1, 9)),
                    .value_size = static_cast<std::int32_t>(random.between(1, 9))};
  Pair out{.shape = shape, .lower = random_layer(random, shape, tokens, heads), .upper = {}};
  out.upper = out.lower;
  for (auto* side : {&out.upper.keys, &out.upper.values})
    std::rotate(side->begin(), side->begin() + heads, side->end());
  return out;
}

std::unique_ptr<Codec> prompt_of(const std::string& text, const Layer& layer, std::int64_t prompt) {
  auto codec = codec_of(text, layer.shape, prompt);
  append(*codec, layer, 0, prompt);
  codec->end_prompt({.tokens = prompt, .heads = layer.queries});
  return codec;
}

TEST(FormatMiniCache, BothLayersComeBackAsTheDefinitionSays) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, "minicache");
    const std::int64_t prompt = random.between(1, 30);
    const std::int64_t tokens = prompt + random.between(0, 5);
    const Pair pair = random_pair(random, tokens);
    const std::string rule = std::vector<std::string>{"share", "far", "near"}[random.below(3)];
    const double t = static_cast<double>(random.between(0, 10)) / 10;
    const double kept_part = static_cast<double>(random.between(0, 4)) / 4;
    const std::string params = ",t=" + std::to_string(t) + ",share=" + std::to_string(kept_part) +
                               ",gamma=" + std::to_string(kept_part) + ",keep=" + rule;
    const auto lower = prompt_of("minicache:layers=8,layer=4" + params, pair.lower, prompt);
    const auto upper = prompt_of("minicache:layers=8,layer=5" + params, pair.upper, prompt);
    for (std::int64_t i = prompt; i < tokens; ++i) {
      append(*lower, pair.lower, i, i + 1);
      append(*upper, pair.upper, i, i + 1);
    }
    for (const Side side : kSides) {
      std::int64_t kept_in_all = 0;
      for (std::int32_t h = 0; h < pair.shape.kv_heads; ++h) {
        const Rows& a = pair.lower.side(side)[static_cast<std::size_t>(h)];
        const Rows& b = pair.upper.side(side)[static_cast<std::size_t>(h)];
        std::vector<std::pair<double, std::int64_t>> angles;
        for (std::int64_t i = 0; i < prompt; ++i) {
          const auto at = static_cast<std::size_t>(i);
          angles.emplace_back(angle_of(a[at], b[at]), i);
        }
        auto falling = angles;
        std::sort(falling.rbegin(), falling.rend());
        const double least = falling.back().first;
        const double greatest = falling.front().first;
        for (std::int64_t i = 0; i < tokens; ++i) {
          const auto at = static_cast<std::size_t>(i);
          const auto index = static_cast<std::int32_t>(i);
          bool kept = i >= prompt;
          // Angles that differ from others, or from a threshold, only by rounding may be kept or not.
          bool tie = false;
          const auto close = [](double x, double y) { return std::fabs(x - y) < 1e-7; };
          if (!kept && rule == "share") {
            const auto place = std::find(falling.begin(), falling.end(), angles[at]) - falling.begin();
            kept = place < static_cast<std::int64_t>(kept_part * static_cast<double>(prompt));
            tie = std::any_of(angles.begin(), angles.end(), [&](const auto& other) {
              return other.second != i && close(other.first, angles[at].first);
            });
          } else if (!kept) {
            const double part = kept_part * (greatest - least);
            kept = rule == "far" ? angles[at].first > greatest - part : angles[at].first < least + part;
            tie = close(angles[at].first, rule == "far" ? greatest - part : least + part);
          }
          const bool exact = lower->plane(side, h).block(index) == Plane::kExact;
          if (!tie) {
            EXPECT_EQ(exact, kept) << "token " << i;
          }
          EXPECT_EQ(exact, upper->plane(side, h).block(index) == Plane::kExact);
          if (exact && i < prompt) ++kept_in_all;
          for (const auto& [codec, own] : {std::pair(lower.get(), &a), std::pair(upper.get(), &b)}) {
            const Vector expected = exact ? (*own)[at] : merged(a[at], b[at], (*own)[at], t);
            const auto found = codec->plane(side, h).stored(index);
            for (std::size_t c = 0; c < expected.size(); ++c)
              // Direction and length are rounded to binary16.
              EXPECT_NEAR(found[c], expected[c], exact ? 0 : 1.1e-3 * length_of((*own)[at]) + 1e-7);
          }
        }
      }
      const std::int64_t heads = pair.shape.kv_heads;
      const std::int64_t size = pair.shape.size(side);
      for (const Codec* codec : {lower.get(), upper.get()}) {
        const Regions bytes = codec->regions(side);
        EXPECT_EQ(bytes.factors, heads * prompt * size);
        EXPECT_EQ(bytes.scales, heads * prompt * 2);
        EXPECT_EQ(bytes.index, kept_in_all * 2);
        EXPECT_EQ(bytes.exact, (kept_in_all + heads * (tokens - prompt)) * size * 2);
      }
    }
  }
}

/// Opposite, parallel and zero vectors have no arc between them; all numbers stay finite, and lengths are kept.
TEST(FormatMiniCache, VectorsWithoutAnArc) {
  const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 2, .value_size = 2};
  Random random(1);
  Pair pair{.shape = shape, .lower = random_layer(random, shape, 5, 1), .upper = {}};
  const Rows own{{3, 4}, {3, 4}, {0, 0}, {0, 0}, {60000, 60000}};
  const Rows other{{-3, -4}, {6, 8}, {1, 0}, {0, 0}, {0, 1}};
  pair.lower.keys = {own, other};
  const auto codec = prompt_of("minicache:share=0,t=0.5,layers=2,layer=0,from=0", pair.lower, 5);
  const auto at = [&](std::int32_t i) {
    const auto x = codec->plane(Side::kKeys, 0).stored(i);
    return Vector(x.begin(), x.end());
  };
  EXPECT_EQ(at(0), Vector({0, 0})) << "half way between opposite directions there is none";
  EXPECT_NEAR(at(1)[0], 3, 2e-3);
  EXPECT_NEAR(at(1)[1], 4, 3e-3);
  EXPECT_EQ(at(2), Vector({0, 0}));
  EXPECT_EQ(at(3), Vector({0, 0}));
  // A length beyond binary16 becomes its largest number.
  EXPECT_LE(length_of(at(4)), 65504 * 1.001);
  EXPECT_GT(length_of(at(4)), 65504 * 0.999);
}

/// A pair of layers stores 3/4 of the elements. In 4 bits, with a pair of 2 bytes for each vector of 128, that is the
/// paper's 5.02, which leaves out the lengths that each layer keeps. With them it is 4.92, since they do not shrink; it
/// would be 4.99 if they shrank like elements.
TEST(FormatMiniCache, RatiosOfThePaper) {
  const Shape shape{.query_heads = 32, .kv_heads = 32, .key_size = 128, .value_size = 128};
  std::int64_t lengths = 0;
  const auto total = [&](const std::string& text) {
    const FormatChoice format = parse_format(text).value();
    std::int64_t sum = 0;
    lengths = 0;
    for (std::int64_t l = 0; l < 32; ++l) {
      const LayerBytes bytes = bytes_from_lengths(of_layer(format, l, 32), shape, {.prompt = 1000}).value();
      sum += bytes.total();
      lengths += bytes.keys.scales + bytes.values.scales;
    }
    return sum;
  };
  const std::int64_t full = total("full");
  EXPECT_EQ(full, 32LL * 32 * 256 * 2 * 1000);
  const std::int64_t coded = total("int-token:bits=4,group=128");
  EXPECT_EQ(coded, full / 16 * 17 / 4) << "4.25 bits an element";
  const std::int64_t merged = total("minicache:share=0");
  EXPECT_EQ(merged - lengths, full * 3 / 4);
  EXPECT_EQ(lengths, full / 256) << "2 bytes for each of 128 elements of 2 bytes, in half of the layers";
  const auto smaller = [&](std::int64_t bytes) {
    return static_cast<double>(full) / static_cast<double>(coded) * static_cast<double>(full) /
           static_cast<double>(bytes);
  };
  EXPECT_NEAR(smaller(merged - lengths), 5.02, 0.005);
  EXPECT_NEAR(smaller(merged), 4.99, 0.005);
  const double shrunk =
      static_cast<double>(merged - lengths) * static_cast<double>(coded) / static_cast<double>(full);
  EXPECT_NEAR(static_cast<double>(full) / (shrunk + static_cast<double>(lengths)), 4.92, 0.005);
}

TEST(FormatMiniCache, PairsAreThoseOfTheUpperHalf) {
  const FormatChoice format = parse_format("minicache").value();
  const auto others = [&](std::int64_t layers) {
    std::vector<std::vector<std::int64_t>> out;
    for (std::int64_t l = 0; l < layers; ++l) out.push_back(other_layers(of_layer(format, l, layers)));
    return out;
  };
  EXPECT_EQ(others(8), (std::vector<std::vector<std::int64_t>>{{}, {}, {}, {}, {5}, {4}, {7}, {6}}));
  EXPECT_EQ(others(7), (std::vector<std::vector<std::int64_t>>{{}, {}, {}, {}, {5}, {4}, {}}));
  EXPECT_EQ(others(6), (std::vector<std::vector<std::int64_t>>{{}, {}, {}, {}, {5}, {4}}));
  EXPECT_EQ(others(2), (std::vector<std::vector<std::int64_t>>{{}, {}}));
}

TEST(FormatCla, LayersReadTheFirstOfTheirGroup) {
  Random random(3);
  const Pair pair = random_pair(random, 12);
  const auto owner =
      prompt_of("cla:layer=4",
                Layer{pair.shape,
                      {pair.lower.keys.begin(), pair.lower.keys.begin() + pair.shape.kv_heads},
                      {pair.lower.values.begin(), pair.lower.values.begin() + pair.shape.kv_heads},
                      pair.lower.queries},
                9);
  const auto reader = prompt_of("cla:layer=5", pair.upper, 9);
  append(*reader, pair.upper, 9, 12);
  for (const Side side : kSides)
    for (std::int32_t h = 0; h < pair.shape.kv_heads; ++h)
      EXPECT_EQ(stored_rows(reader->plane(side, h)), pair.lower.side(side)[static_cast<std::size_t>(h)]);
  EXPECT_EQ(reader->total_bytes(), 0);
  EXPECT_EQ(owner->total_bytes(),
            9LL * pair.shape.kv_heads * (pair.shape.key_size + pair.shape.value_size) * 2);
  const FormatChoice format = parse_format("cla:span=3").value();
  EXPECT_EQ(other_layers(of_layer(format, 6, 8)), std::vector<std::int64_t>{});
  EXPECT_EQ(other_layers(of_layer(format, 5, 8)), std::vector<std::int64_t>{3});
}

Result<Evaluation> evaluated(const std::string& format, std::int32_t layer, const std::string& policy = "") {
  static const auto kSample =
      io::open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva").value();
  EvaluationRequest request{.format = of_layer(parse_format(format).value(), layer, kSample->info().layers),
                            .prompt = 64,
                            .sequence = 7,
                            .layer = layer};
  if (!policy.empty()) request.evict = attention::parse_policy(policy).value();
  return evaluate(*kSample, request, []() -> Status { return Done{}; });
}

/// On the bundled recording of six layers: an interpolation at an end is the layer itself, so it only loses by
/// rounding; reading another layer's cache gives large errors in a model that was not trained for it.
TEST(SampleAcrossLayers, WhatMergingLoses) {
  const auto error = [](const Result<Evaluation>& found) {
    return found.value().summary.mean_output_error.value();
  };
  EXPECT_EQ(error(evaluated("minicache:from=0.5", 1)), 0);
  EXPECT_EQ(error(evaluated("cla", 2)), 0);
  for (const std::int32_t layer : {4, 5}) {
    const std::string itself = layer == 4 ? "0" : "1";
    EXPECT_LT(error(evaluated("minicache:share=0,t=" + itself, layer)), 2e-3);
    double last = 1e9;
    for (const char* share : {"0", "0.5", "1"}) {
      const auto found = evaluated("minicache:share=" + std::string(share), layer);
      EXPECT_LT(error(found), last);
      last = error(found);
    }
    EXPECT_EQ(last, 0) << "every token is kept";
  }
  EXPECT_GT(error(evaluated("cla", 5)), error(evaluated("minicache:share=0", 5)));
}

TEST(SampleAcrossLayers, ComposeWithPositionsAlone) {
  const auto kept = evaluated("minicache", 4, "streaming-llm:sink=4,recent=20");
  ASSERT_TRUE(kept.ok()) << kept.error().to_string();
  EXPECT_EQ(kept.value().retained.front().size(), 24U);
  const auto says = [](const std::string& format, std::int32_t layer, const std::string& policy,
                       const std::string& what) {
    const auto found = evaluated(format, layer, policy);
    ASSERT_FALSE(found.ok()) << format;
    EXPECT_NE(found.error().to_string().find(what), std::string::npos) << found.error().to_string();
  };
  says("minicache", 4, "h2o:hh=8,recent=8", "expected a policy that selects by position");
  says("cla:span=40,layer=45,layers=64", 4, "", "layer 40, which was not recorded");
  says("smaller-model:model_layers=3", 4, "", "errors of this format are unknown");
}

}  // namespace
}  // namespace kvplan::formats::test
