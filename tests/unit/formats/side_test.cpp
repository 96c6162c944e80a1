// Formats that use weights or calibration: projections and KVQuant compared with slow second implementations, and
// keys before and after their rotation on the bundled recording.
#include <gtest/gtest.h>

#include "simulator/formats/evaluation.h"
#include "simulator/formats/rotation.h"
#include "simulator/io/attention_json.h"
#include "tests/unit/formats/support.h"

namespace kvplan::formats::test {
namespace {

/// `rank` orthonormal vectors over `size` channels.
Matrix random_basis(Random& random, std::size_t rank, std::size_t channels) {
  Matrix out(rank, channels);
  for (double& v : out.data) v = 2 * random.unit() - 1;
  return orthonormal_rows(std::move(out));
}

struct Ranks {
  std::size_t keys, values;
};
SideLayer random_bases(Random& random, const Shape& shape, std::size_t group, const Ranks& ranks) {
  SideLayer out;
  for (const Side side : kSides)
    for (std::size_t g = 0; g < static_cast<std::size_t>(shape.kv_heads) / group; ++g)
      out.bases[static_cast<std::size_t>(side)].push_back(
          random_basis(random, side == Side::kKeys ? ranks.keys : ranks.values,
                       group * static_cast<std::size_t>(shape.size(side))));
  return out;
}

FormatChoice with_side(const std::string& text, SideLayer layer) {
  FormatChoice format = parse_format(text).value();
  auto side = std::make_shared<SideData>();
  side->layers.emplace(0, std::move(layer));
  format.side = std::move(side);
  return of_layer(format, 0, 1);
}

/// The projection of x on the vectors, added one by one.
Vector projected(const Matrix& basis, const Vector& x) {
  Vector out(x.size(), 0.0);
  for (std::size_t r = 0; r < basis.rows; ++r) {
    double coordinate = 0;
    for (std::size_t c = 0; c < x.size(); ++c) coordinate += basis.at(r, c) * x[c];
    for (std::size_t c = 0; c < x.size(); ++c) out[c] += coordinate * basis.at(r, c);
  }
  return out;
}

TEST(FormatProjected, TokensAreWhatTheirBasesHold) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, "projected");
    const std::size_t group = random.below(3) + 1;
    const auto groups = static_cast<std::size_t>(random.between(1, 2));
    const auto heads = static_cast<std::int32_t>(group * groups);
    const Shape shape{.query_heads = heads, .kv_heads = heads, .key_size = 5, .value_size = 4};
    const bool lorc = groups == 1 && random.chance(1, 2);
    const Ranks ranks{static_cast<std::size_t>(random.between(1, 5)),
                      static_cast<std::size_t>(random.between(1, 4))};
    const SideLayer side = random_bases(random, shape, group, ranks);
    const FormatChoice format =
        with_side(lorc ? "lorc:file=x" : "palu:file=x,group=" + std::to_string(group), side);
    const std::int64_t prompt = random.between(1, 9);
    const std::int64_t tokens = prompt + random.between(1, 9);
    ASSERT_TRUE(check_format(format, shape, prompt).ok());
    EXPECT_TRUE(format.before_rotation());
    const auto codec = make_codec(format, shape);
    const Layer layer = random_layer(random, shape, tokens);
    append(*codec, layer, 0, prompt);
    codec->end_prompt({.tokens = prompt, .heads = layer.queries});
    const auto compare = [&](std::int64_t dropped, std::int64_t appended) {
      const auto bytes = bytes_from_lengths(
          format, shape, {.prompt = prompt, .generated = appended - prompt, .dropped = dropped});
      ASSERT_TRUE(bytes.ok());
      for (const Side of : kSides) {
        EXPECT_EQ(codec->regions(of).factors, bytes.value().of(of).factors);
        EXPECT_EQ(codec->regions(of).total(), bytes.value().of(of).total());
        EXPECT_EQ(codec->regions(of).factors,
                  static_cast<std::int64_t>(groups * (of == Side::kKeys ? ranks.keys : ranks.values)) *
                      (appended - dropped) * 2);
        for (std::size_t g = 0; g < groups; ++g) {
          const auto first = static_cast<std::int32_t>(g * group);
          for (std::int32_t i = 0; i < codec->plane(of, first).tokens(); ++i) {
            const auto position =
                static_cast<std::size_t>(codec->positions(first)[static_cast<std::size_t>(i)]);
            Vector together;
            for (std::size_t h = g * group; h < (g + 1) * group; ++h)
              together.insert(together.end(), layer.side(of)[h][position].begin(),
                              layer.side(of)[h][position].end());
            const Vector expected = projected(side.bases[static_cast<std::size_t>(of)][g], together);
            for (std::size_t c = 0; c < expected.size(); ++c) {
              const auto size = static_cast<std::size_t>(shape.size(of));
              const auto head = first + static_cast<std::int32_t>(c / size);
              EXPECT_NEAR(codec->plane(of, head).stored(i)[c % size], expected[c], 1e-12);
            }
          }
        }
      }
    };
    compare(0, prompt);
    std::int64_t dropped = 0;
    for (std::int64_t t = prompt; t < tokens && !HasFailure(); ++t) {
      append(*codec, layer, t, t + 1);
      codec->end_step();
      if (random.chance(1, 2)) {
        // The same token in each head.
        const std::vector<std::vector<std::int32_t>> gone(static_cast<std::size_t>(heads), {0});
        codec->drop(gone);
        ++dropped;
      }
      compare(dropped, t + 1);
    }
  }
}

/// Coordinates that heads share stay until the last head has dropped the token.
TEST(FormatProjected, ATokenGoesWithTheLastHead) {
  Random random(1);
  const Shape shape{.query_heads = 4, .kv_heads = 4, .key_size = 3, .value_size = 3};
  const FormatChoice format =
      with_side("palu:file=x,group=2", random_bases(random, shape, 2, {.keys = 2, .values = 4}));
  const auto codec = make_codec(format, shape);
  const Layer layer = random_layer(random, shape, 5);
  append(*codec, layer, 0, 5);
  const auto tokens = [&] { return codec->regions(Side::kKeys).factors / (2 * 2); };
  EXPECT_EQ(tokens(), 2 * 5);
  codec->drop(std::vector<std::vector<std::int32_t>>{{0, 1}, {1, 2}, {}, {4}});
  EXPECT_EQ(tokens(), (5 - 1) + 5);
  codec->drop(std::vector<std::vector<std::int32_t>>{{0}, {0}, {4}, {}});
  EXPECT_EQ(tokens(), (5 - 3) + (5 - 1)) << "positions 2 and 0 have gone from both heads now";
  codec->drop(std::vector<std::vector<std::int32_t>>{{}, {}, {}, {0, 1, 2, 3}});
  EXPECT_EQ(tokens(), 2 + 4);
}

TEST(FormatProjected, BytesWithoutAFile) {
  // The example of the paper's text: groups of 4 heads of 128 with half of their channels take half of the bytes.
  const Shape shape{.query_heads = 32, .kv_heads = 32, .key_size = 128, .value_size = 128};
  const auto total = [&](const std::string& text) {
    return bytes_from_lengths(parse_format(text).value(), shape, {.prompt = 100}).value().total();
  };
  EXPECT_EQ(2 * total("palu"), total("full"));
  EXPECT_EQ(total("lorc:rank=1024,rank_v=3072"), 100 * (1024 + 3072) * 2);
  const auto refused = [&](const std::string& text, const std::string& what) {
    const Status found = check_format(parse_format(text).value(), shape, 100);
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_NE(found.error().to_string().find(what), std::string::npos) << found.error().to_string();
  };
  refused("palu:group=3", "a divisor of the 32 KV heads");
  refused("palu:rank=513", "at most the 512 channels");
  refused("palu:file=x", "does not read side files");
}

TEST(FormatSide, WhatDoesNotSuitALayer) {
  Random random(2);
  const Shape shape{.query_heads = 4, .kv_heads = 4, .key_size = 3, .value_size = 3};
  const auto refused = [&](const FormatChoice& format, const std::string& what) {
    const Status found = check_format(format, shape, 4);
    ASSERT_FALSE(found.ok()) << what;
    EXPECT_NE(found.error().to_string().find(what), std::string::npos) << found.error().to_string();
  };
  const SideLayer pairs = random_bases(random, shape, 2, {.keys = 2, .values = 2});
  EXPECT_TRUE(check_format(with_side("palu:file=x,group=2", pairs), shape, 4).ok());
  refused(with_side("palu:file=x,group=4", pairs), "1 groups of 12 channels, found 2 of 6");
  refused(with_side("lorc:file=x", pairs), "1 groups of 12 channels");
  refused(with_side("kvquant:file=x", pairs), "key thresholds for 4 KV heads of 3 channels, found 0 of 0");
  SideLayer half = pairs;
  half.bases[1].clear();
  refused(with_side("palu:file=x,group=2", half), "has no bases of values");
  FormatChoice other = with_side("palu:file=x,group=2", pairs);
  refused(of_layer(other, 3, 8), "does not hold this layer");
  SideLayer tables;
  tables.key_thresholds.assign(4, std::vector<Thresholds>(3, {-1, 1}));
  tables.tables = {Vector{-1, 0, 0.5, 1}, Vector{-1, 0, 0.1, 0.2, 0.5, 0.6, 0.7, 1}};
  refused(with_side("kvquant:file=x", tables), "with the same length");
  tables.tables[0] = tables.tables[1];
  EXPECT_TRUE(check_format(with_side("kvquant:file=x", tables), shape, 4).ok()) << "the file says 3 bits";
  EXPECT_TRUE(check_format(with_side("kvquant:file=x,bits=3", tables), shape, 4).ok());
  for (auto& table : tables.tables) table.resize(4);
  EXPECT_EQ(with_side("kvquant:file=x", tables).choice.integer("bits"), 2) << "the default asks for nothing";
  refused(with_side("kvquant:file=x,bits=3", tables),
          "kvquant:bits: expected tables of 8 numbers for bits=3, found 4");
  for (auto& table : tables.tables) table = {-1, 0, 0.1, 0.2, 0.5, 0.6, 0.7, 1};
  refused(with_side("kvquant:file=x,bits=2", tables),
          "kvquant:bits: expected tables of 4 numbers for bits=2, found 8");
}

double nearest_of(const Vector& table, double x) {
  return *std::min_element(table.begin(), table.end(),
                           [&](double a, double b) { return std::fabs(a - x) < std::fabs(b - x); });
}

/// Codes from the file's table between the file's thresholds; values between those of their token in both heads.
TEST(FormatKvquant, WithASideFile) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed, "tables");
    const Shape shape{.query_heads = 2, .kv_heads = 2, .key_size = 3, .value_size = 40};
    SideLayer side;
    for (auto& table : side.tables) {
      for (int i = 0; i < 8; ++i) table.push_back(2 * random.unit() - 1);
      std::sort(table.begin(), table.end());
    }
    for (int h = 0; h < 2; ++h) {
      side.key_thresholds.emplace_back();
      for (int c = 0; c < 3; ++c) side.key_thresholds.back().push_back({-random.unit(), 2 * random.unit()});
    }
    const FormatChoice format = with_side("kvquant:file=x,outliers=0.1", side);
    EXPECT_EQ(format.choice.integer("bits"), 3);
    const auto codec = make_codec(format, shape);
    const Layer layer = random_layer(random, shape, 12);
    append(*codec, layer, 0, 9);
    codec->end_prompt({.tokens = 9, .heads = layer.queries});
    for (std::int64_t t = 9; t < 12; ++t) append(*codec, layer, t, t + 1);
    static const std::vector<double> kHalves = values_of(kBinary16);
    std::array<std::int64_t, 2> taken{};
    for (const Side of : kSides)
      for (std::size_t h = 0; h < 2; ++h)
        for (std::size_t i = 0; i < 12; ++i) {
          const Vector& x = layer.side(of)[h][i];
          Vector ordered = layer.side(of)[0][i];
          ordered.insert(ordered.end(), layer.side(of)[1][i].begin(), layer.side(of)[1][i].end());
          std::sort(ordered.begin(), ordered.end());
          for (std::size_t c = 0; c < x.size(); ++c) {
            // 0.05 of 80 are 4 at either end.
            const double low = of == Side::kKeys ? side.key_thresholds[h][c].low : ordered[4];
            const double high = of == Side::kKeys ? side.key_thresholds[h][c].high : ordered[75];
            const double found =
                codec->plane(of, static_cast<std::int32_t>(h)).stored(static_cast<std::int32_t>(i))[c];
            if (x[c] < low || x[c] > high) {
              ++taken[static_cast<std::size_t>(of)];
              EXPECT_EQ(found, x[c]);
              continue;
            }
            const double scale = nearest(kHalves, (high - low) / 2);
            const double zero = nearest(kHalves, (high + low) / 2);
            const double at = scale > 0 ? (x[c] - zero) / scale : 0;
            EXPECT_EQ(found, nearest_of(side.tables[static_cast<std::size_t>(of)], at) * scale + zero);
          }
        }
    const Regions keys = codec->regions(Side::kKeys);
    const Regions values = codec->regions(Side::kValues);
    EXPECT_EQ(keys.codes, 2 * 12 * 3 * 3 / 8);
    EXPECT_EQ(values.codes, 2 * 12 * 40 * 3 / 8);
    EXPECT_EQ(keys.scales + keys.zeros + keys.centroids + values.centroids, 0) << "those are the model's";
    EXPECT_EQ(values.scales + values.zeros, 12 * 4);
    EXPECT_EQ(keys.exact, 2 * taken[0]);
    EXPECT_EQ(values.exact, 2 * taken[1]);
  }
}

const attention::Recording& sample() {
  static const auto kSample =
      io::open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva").value();
  return *kSample;
}

TEST(SampleSide, KeysTurnBothWays) {
  const attention::LayerTensors tensors = sample().tensors(7, 2).value();
  const Rotation rotation(tensors);
  for (const std::int64_t t : {0, 1, 77, 134}) {
    Vector key(tensors.keys[1].begin() + t * tensors.key_size,
               tensors.keys[1].begin() + (t + 1) * tensors.key_size);
    const Vector recorded = key;
    Vector other = key;
    rotation.turn_back(t, key);
    attention::unrotate(*tensors.rotary, t, other);
    EXPECT_EQ(key, other);
    rotation.turn(t, key);
    for (std::size_t c = 0; c < key.size(); ++c) EXPECT_NEAR(key[c], recorded[c], 1e-14);
  }
}

/// Full bases lose nothing except by rounding, in any orientation; bases of the keys' own axes lose less with each
/// rank, and less than those of another head.
TEST(SampleSide, RanksOfProjections) {
  const attention::RecordingInfo& info = sample().info();
  const attention::LayerInfo of = info.layer(2);
  const Shape shape{.query_heads = of.query_heads,
                    .kv_heads = of.kv_heads,
                    .key_size = of.key_size,
                    .value_size = of.value_size};
  const auto error = [&](const SideLayer& layer, const std::string& policy = "") {
    FormatChoice format = parse_format("palu:file=x,group=2").value();
    auto side = std::make_shared<SideData>();
    side->layers.emplace(2, layer);
    format.side = side;
    EvaluationRequest request{
        .format = of_layer(format, 2, info.layers), .prompt = 64, .sequence = 7, .layer = 2};
    if (!policy.empty()) request.evict = attention::parse_policy(policy).value();
    const auto found = evaluate(sample(), request, []() -> Status { return Done{}; });
    EXPECT_TRUE(found.ok()) << found.error().to_string();
    return found.value().summary;
  };
  Random random(4);
  const auto channels = static_cast<std::size_t>(2 * of.key_size);
  const SideLayer whole = random_bases(random, shape, 2, {.keys = channels, .values = channels});
  EXPECT_LT(error(whole).mean_output_error.value(), 1e-12);
  EXPECT_EQ(error(whole).final_bytes, error(whole).full_bytes);
  const EvaluationSummary kept = error(whole, "h2o:hh=12,recent=12");
  EvaluationRequest plain{.format = parse_format("full").value(), .prompt = 64, .sequence = 7, .layer = 2};
  plain.evict = attention::parse_policy("h2o:hh=12,recent=12").value();
  EXPECT_NEAR(
      kept.mean_output_error.value(),
      evaluate(sample(), plain, []() -> Status { return Done{}; }).value().summary.mean_output_error.value(),
      1e-12)
      << "behind a policy the same tokens are left";
  EXPECT_GT(kept.final_bytes, 24LL * of.kv_heads * 2 * of.key_size * 2)
      << "heads of a group keep different tokens";
  const attention::LayerTensors tensors = sample().tensors(7, 2).value();
  const Rotation rotation(tensors);
  const auto axes = [&](std::size_t rank) {
    SideLayer out;
    for (const Side side : kSides)
      for (std::size_t g = 0; g < 2; ++g) {
        Matrix rows(static_cast<std::size_t>(tensors.tokens), channels);
        for (std::int64_t t = 0; t < tensors.tokens; ++t)
          for (std::size_t h = 0; h < 2; ++h) {
            const auto& head = (side == Side::kKeys ? tensors.keys : tensors.values)[2 * g + h];
            Vector x(head.begin() + t * tensors.key_size, head.begin() + (t + 1) * tensors.key_size);
            if (side == Side::kKeys) rotation.turn_back(t, x);
            std::copy(
                x.begin(), x.end(),
                rows.row(static_cast<std::size_t>(t)).begin() + static_cast<std::ptrdiff_t>(h * x.size()));
          }
        Matrix basis = right_singular(rows).vectors;
        basis.rows = rank;
        basis.data.resize(rank * channels);
        out.bases[static_cast<std::size_t>(side)].push_back(std::move(basis));
      }
    return out;
  };
  double last = 1e9;
  for (const std::size_t rank : {8U, 16U, 32U, 64U}) {
    const double now = error(axes(rank)).mean_output_error.value();
    EXPECT_LT(now, last);
    last = now;
  }
  EXPECT_LT(last, 1e-10);
  EXPECT_LT(error(axes(16)).mean_output_error.value(),
            error(random_bases(random, shape, 2, {.keys = 16, .values = 16})).mean_output_error.value());
}

TEST(SampleSide, FilesOfAnotherModelAreRefused) {
  FormatChoice format = parse_format("palu:file=x,group=2").value();
  auto side = std::make_shared<SideData>();
  side->file = "x";
  side->model_digest = "0123";
  side->layers.emplace(2, SideLayer{});
  format.side = side;
  const EvaluationRequest request{.format = of_layer(format, 2, 6), .prompt = 64, .sequence = 7, .layer = 2};
  const auto found = evaluate(sample(), request, []() -> Status { return Done{}; });
  ASSERT_FALSE(found.ok());
  const bool says = !sample().info().model_digest.empty();
  EXPECT_NE(
      found.error().to_string().find(says ? "expected a side file for the recorded model" : "has no bases"),
      std::string::npos)
      << found.error().to_string();
}

}  // namespace
}  // namespace kvplan::formats::test
