// What single formats store, and their errors, by hand.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "simulator/formats/linear.h"
#include "simulator/formats/region_names.h"
#include "simulator/formats/shares.h"
#include "tests/unit/formats/support.h"

namespace kvplan::formats::test {
namespace {

/// The square of the error of a truncation is the sum of the squares of the singular values that it leaves out, which
/// are eigenvalues of the sum of outer products.
TEST(FormatLowRank, ErrorsAreThoseOfEckartAndYoung) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed, "eckart");
    const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 12, .value_size = 7};
    const std::int64_t prompt = random.between(1, 40);
    const std::int64_t rank = random.between(1, 9);
    const Layer layer = random_layer(random, shape, prompt);
    const std::string ranks = std::to_string(rank);
    for (const std::string& text : {"svd:rank=" + ranks, "layered:window=0,factor_v=true,rank=" + ranks,
                                    "eigen:rank=" + ranks + ",rank_v=" + ranks}) {
      const auto codec = codec_of(text, shape, prompt);
      append(*codec, layer, 0, prompt);
      codec->end_prompt({.tokens = prompt, .heads = layer.queries});
      for (const Side side : kSides) {
        const Rows& rows = layer.side(side).front();
        const std::size_t size = rows.front().size();
        Matrix products(size, size);
        double all = 0;
        for (const Vector& row : rows)
          for (std::size_t i = 0; i < size; ++i) {
            all += row[i] * row[i];
            for (std::size_t j = 0; j <= i; ++j) products.at(i, j) += row[i] * row[j];
          }
        const auto squares = symmetric_eigenvalues(products);
        double expected = 0;
        for (auto r = static_cast<std::size_t>(rank); r < squares.size(); ++r) expected += squares[r];
        double found = 0;
        const Rows stored = stored_rows(codec->plane(side, 0));
        for (std::size_t i = 0; i < rows.size(); ++i)
          for (std::size_t c = 0; c < size; ++c)
            found += (rows[i][c] - stored[i][c]) * (rows[i][c] - stored[i][c]);
        EXPECT_NEAR(found, expected, 1e-11 * (all + 1)) << text << " seed " << seed;
        const std::int64_t kept = std::min<std::int64_t>({rank, prompt, static_cast<std::int64_t>(size)});
        const std::int64_t numbers = text.starts_with("eigen")
                                         ? std::min<std::int64_t>(rank, static_cast<std::int64_t>(size)) *
                                               (prompt + static_cast<std::int64_t>(size))
                                         : kept * (prompt + static_cast<std::int64_t>(size) + 1);
        EXPECT_EQ(codec->regions(side).factors, 2 * numbers) << text;
      }
    }
  }
}

/// With energy, the rank is the smallest that reaches this share of the squares, which are eigenvalues of the sum of
/// outer products; the decoded numbers are those of that rank.
TEST(FormatLowRank, EnergySaysTheLeastRank) {
  std::set<std::int64_t> ranks;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "energy");
    const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 12, .value_size = 7};
    const std::int64_t prompt = random.between(1, 40);
    const Layer layer = random_layer(random, shape, prompt);
    const std::string energy = "0." + std::to_string(random.between(10, 99));
    const auto prompt_of = [&](const std::string& text) {
      auto codec = codec_of(text, shape, prompt);
      append(*codec, layer, 0, prompt);
      codec->end_prompt({.tokens = prompt, .heads = layer.queries});
      return codec;
    };
    const auto codec = prompt_of("svd:rank=1,energy=" + energy);
    for (const Side side : kSides) {
      const Rows& rows = layer.side(side).front();
      const std::size_t size = rows.front().size();
      Matrix products(size, size);
      for (const Vector& row : rows)
        for (std::size_t i = 0; i < size; ++i)
          for (std::size_t j = 0; j <= i; ++j) products.at(i, j) += row[i] * row[j];
      const auto squares = symmetric_eigenvalues(products);
      const double wanted = std::stod(energy) * std::accumulate(squares.begin(), squares.end(), 0.0);
      std::int64_t rank = 0;
      double held = 0, nearest = wanted;
      while (held < wanted) {
        held += squares[static_cast<std::size_t>(rank++)];
        nearest = std::min(nearest, std::abs(held - wanted));
      }
      ASSERT_GT(nearest, 1e-9 * wanted) << "too near to tell";
      ranks.insert(rank);
      EXPECT_EQ(codec->regions(side).factors, 2 * rank * (prompt + static_cast<std::int64_t>(size) + 1));
      const auto by_rank = prompt_of("svd:rank=" + std::to_string(rank));
      EXPECT_EQ(stored_rows(codec->plane(side, 0)), stored_rows(by_rank->plane(side, 0)));
    }
  }
  EXPECT_GT(ranks.size(), 5U);
}

TEST(FormatLowRank, AllEnergyIsEveryRankAndZerosHaveRankOne) {
  const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 3, .value_size = 2};
  const Rows zeros(5, Vector(2, 0.0));
  Random random(5);
  Layer layer = random_layer(random, shape, 5);
  layer.values = {zeros};
  const auto codec = codec_of("svd:energy=1", shape, 5);
  append(*codec, layer, 0, 5);
  codec->end_prompt({.tokens = 5, .heads = layer.queries});
  EXPECT_EQ(codec->regions(Side::kKeys).factors, 2 * 3 * (5 + 3 + 1));
  EXPECT_EQ(codec->regions(Side::kValues).factors, 2 * 1 * (5 + 2 + 1));
  EXPECT_EQ(stored_rows(codec->plane(Side::kValues, 0)), zeros);
}

/// Compression by 20, 40 and 60 % leaves 102, 76 and 51 of 128 channels, as in the table of the design notes.
TEST(FormatLowRank, AShareOfChannelsIsARank) {
  const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 128, .value_size = 64};
  Random random(4);
  const Layer layer = random_layer(random, shape, 130);
  for (const auto& [share, rank] :
       std::map<std::string, std::int64_t>{{"0.2", 102}, {"0.4", 76}, {"0.6", 51}}) {
    const auto codec = codec_of("svd:compression_ratio=" + share, shape, 130);
    append(*codec, layer, 0, 130);
    codec->end_prompt({.tokens = 130, .heads = layer.queries});
    EXPECT_EQ(codec->regions(Side::kKeys).factors, 2 * rank * (130 + 128 + 1));
    EXPECT_EQ(codec->regions(Side::kValues).factors, 2 * (rank / 2) * (130 + 64 + 1));
  }
}

/// Shares are decimal numbers: a fifth of 80 channels is 16, although 1 - 0.8 is a little less than that in binary.
TEST(FormatShares, AreCutOffAsTheyAreWritten) {
  const auto of = [](const std::string& text, std::int32_t size, std::int64_t tokens) {
    const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = size, .value_size = size};
    return bytes_from_lengths(parse_format(text).value(), shape, {.prompt = tokens}).value().keys;
  };
  for (const auto& [share, rank] : std::map<std::string, std::int64_t>{
           {"0.8", 16}, {"8e-1", 16}, {"0.9", 8}, {"0.90", 8}, {".9", 8}, {"0.901", 7}, {"1", 1}})
    EXPECT_EQ(of("svd:compression_ratio=" + share, 80, 100).factors, 2 * rank * (100 + 80 + 1)) << share;
  // 0.07 x 100 and 0.14 x 50 are a little more than 7 in binary.
  EXPECT_EQ(of("sparse:density=0.07", 100, 1).codes, 2 * 7);
  EXPECT_EQ(of("sparse:density=0.14", 50, 1).codes, 2 * 7);
  EXPECT_EQ(of("sparse:density=0.071", 100, 1).codes, 2 * 8);
  // 0.29 x 100 and 0.58 x 50 are a little less than 29: of lines of 100 and 200 numbers, a half of the share at an end.
  EXPECT_EQ(of("minicache:layer=2,layers=4,share=0.29", 8, 100).exact,
            of("minicache:layer=2,layers=4,share=0.290001", 8, 100).exact);
  EXPECT_LT(of("minicache:layer=2,layers=4,share=0.289999", 8, 100).exact,
            of("minicache:layer=2,layers=4,share=0.29", 8, 100).exact);
  EXPECT_EQ(of("gear:residual=100,group=4,outliers=0.58", 4, 100).index, 4 * 2 * 29 * 2);
  EXPECT_EQ(of("kvquant:outliers=0.145", 8, 400).exact, 8 * 2 * 29 * 2);
}

TEST(FormatShares, OfWholeNumbers) {
  for (int percent = 0; percent <= 100; ++percent)
    for (const std::string& text : {std::to_string(percent) + "e-2",
                                    std::to_string(percent / 100) + "." + std::to_string(percent / 10 % 10) +
                                        std::to_string(percent % 10) + "000"})
      for (const std::int64_t n : {0LL, 1LL, 7LL, 50LL, 80LL, 128LL, 4099LL, 1LL << 56}) {
        const Share share(text);
        const std::int64_t high = n / 200 * percent, low = n % 200 * percent;  // no overflow
        EXPECT_EQ(share.half_of(n), high + low / 200) << text << " of " << n;
        EXPECT_EQ(share.floor_of(n), 2 * high + low / 100) << text << " of " << n;
        EXPECT_EQ(share.ceil_of(n), 2 * high + (low + 99) / 100) << text << " of " << n;
        EXPECT_EQ(share.rest_of(n), n - 2 * high - (low + 99) / 100) << text << " of " << n;
      }
  EXPECT_TRUE(Share("0").none());
  EXPECT_TRUE(Share("-0.0").none());
  EXPECT_TRUE(Share("0e700").none());
  EXPECT_EQ(Share("0.0000005e6").floor_of(10), 5);
  EXPECT_EQ(Share("1.00000000000000005").floor_of(10), 10) << "a double takes it for 1";
  EXPECT_EQ(Share("0.3333333333333333333333").floor_of(3), 0);
}

double error_of(const Codec& codec, const Layer& layer, Side side) {
  const Rows stored = stored_rows(codec.plane(side, 0));
  double out = 0;
  for (std::size_t i = 0; i < stored.size(); ++i)
    for (std::size_t c = 0; c < stored[i].size(); ++c) {
      const double lost = layer.side(side).front()[i][c] - stored[i][c];
      out += lost * lost;
    }
  return std::sqrt(out);
}

/// Without a correction it equals KIVI over whole chunks; each rank reduces the error, the full rank removes it.
TEST(FormatGear, CorrectsWhatIntegersLose) {
  const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 8, .value_size = 8};
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Random random(seed, "gear");
    const Layer layer = random_layer(random, shape, 16);
    const auto run = [&](const std::string& text) {
      auto codec = codec_of(text, shape, 16);
      append(*codec, layer, 0, 16);
      codec->end_prompt({.tokens = 16, .heads = layer.queries});
      return codec;
    };
    const auto kivi = run("kivi:group=4,residual=16,bits=2");
    std::array<double, 2> before{1e9, 1e9};
    for (int rank = 0; rank <= 8; ++rank) {
      const auto gear = run("gear:group=4,residual=16,bits=2,outliers=0,rank=" + std::to_string(rank));
      if (rank == 0) {
        EXPECT_EQ(stored_rows(gear->plane(Side::kKeys, 0)), stored_rows(kivi->plane(Side::kKeys, 0)));
      }
      for (const Side side : kSides) {
        double& last = before[static_cast<std::size_t>(side)];
        const double now = error_of(*gear, layer, side);
        EXPECT_LE(now, last + 1e-12);
        last = now;
        EXPECT_EQ(gear->regions(side).factors, 2 * rank * (16 + 8));
      }
    }
    EXPECT_LT(before[0], 1e-10);
    EXPECT_LT(before[1], 1e-10);
    // Half of 0.5 x 16 of a key's channel at either end, and of 0.5 x 8 of a value, are stored exactly.
    const auto sparse = run("gear:group=4,residual=16,bits=2,outliers=0.5,rank=0");
    EXPECT_EQ(sparse->regions(Side::kKeys).index, 8 * 8 * 2);
    EXPECT_EQ(sparse->regions(Side::kKeys).exact, 8 * 8 * 2);
    EXPECT_EQ(sparse->regions(Side::kValues).index, 16 * 4 * 2);
    const Rows stored = stored_rows(sparse->plane(Side::kKeys, 0));
    for (std::size_t c = 0; c < 8; ++c) {
      double most = -1e9;
      std::size_t at = 0;
      for (std::size_t i = 0; i < 16; ++i)
        if (layer.keys[0][i][c] > most) {
          most = layer.keys[0][i][c];
          at = i;
        }
      EXPECT_EQ(stored[at][c], most);
    }
  }
}

/// 3 bits and 1 % of outliers: slightly more than 3.3 bits per element, as the paper counts.
TEST(FormatKvquant, TakesTheBitsOfThePaper) {
  const Shape shape{.query_heads = 4, .kv_heads = 4, .key_size = 32, .value_size = 100};
  Random random(2);
  const std::int64_t tokens = 1000;
  Layer layer = random_layer(random, shape, tokens);
  for (auto* side : {&layer.keys, &layer.values})
    for (Rows& head : *side)
      for (Vector& row : head)
        for (double& v : row) v = random.unit() - 0.5;
  const auto codec = codec_of("kvquant:iterations=3", shape, tokens);
  append(*codec, layer, 0, tokens);
  codec->end_prompt({.tokens = tokens, .heads = layer.queries});
  // A key's channel has 1000 numbers, of them 5 and 5 beyond; the values of a token 400, of them 2 and 2.
  const Regions keys = codec->regions(Side::kKeys);
  EXPECT_EQ(keys.codes, 128 * tokens * 3 / 8);
  EXPECT_EQ(keys.exact, 2 * 10 * 128);
  EXPECT_EQ(keys.index, 2 * 10 * 128 + 4 * tokens);
  EXPECT_EQ(keys.scales + keys.zeros, 4 * 128);
  EXPECT_EQ(keys.centroids, 2 * 8);
  const Regions values = codec->regions(Side::kValues);
  EXPECT_EQ(values.exact, 2 * 4 * tokens);
  EXPECT_EQ(values.scales + values.zeros, 4 * tokens);
  const double bits = 8.0 * static_cast<double>(values.total()) / (400.0 * static_cast<double>(tokens));
  EXPECT_NEAR(bits, 3 + 0.01 * 32 + 2 * 32.0 / 400, 1e-3);
  // Between the thresholds, no error is larger than half the widest gap of a table of eight values.
  EXPECT_LT(error_of(*codec, layer, Side::kValues), 0.06 * std::sqrt(100.0 * static_cast<double>(tokens)));
}

/// Two heads of two channels; a quarter at either end is one of a token's four numbers of values. The shared data of a
/// token is freed with the last of these heads, an outlier with the head that has it.
TEST(FormatKvquant, HeadsShareWhatIsStoredOfAToken) {
  const Shape shape{.query_heads = 2, .kv_heads = 2, .key_size = 2, .value_size = 2};
  const Layer layer{.shape = shape,
                    .keys = {{{1, 2}, {3, 4}, {5, 6}}, {{6, 5}, {4, 3}, {2, 1}}},
                    .values = {{{-9, 9}, {1, 2}, {-7, 1}}, {{1, 2}, {-8, 8}, {2, 7}}},
                    .queries = {}};
  const auto codec = codec_of("kvquant:bits=2,outliers=0.5", shape, 2);
  append(*codec, layer, 0, 2);
  codec->end_prompt({.tokens = 2, .heads = layer.queries});
  append(*codec, layer, 2, 3);
  const auto values = [&](std::int64_t tokens, std::int64_t outliers) {
    const Regions found = codec->regions(Side::kValues);
    EXPECT_EQ(found.scales, 2 * tokens);
    EXPECT_EQ(found.zeros, 2 * tokens);
    EXPECT_EQ(found.exact, 2 * outliers);
    EXPECT_EQ(found.index, 2 * outliers + 4 * tokens);
    EXPECT_EQ(codec->regions(Side::kKeys).index - codec->regions(Side::kKeys).exact, 4 * tokens);
  };
  values(3, 6);
  // The first token's other numbers are the ends of their range, 1 and 2: codes -1 and 1 of scale .5 around 1.5.
  EXPECT_EQ(codec->coded(Side::kValues, 0, 0, 0).scale, 0.5);
  EXPECT_EQ(codec->coded(Side::kValues, 1, 0, 0).zero, 1.5);
  EXPECT_EQ(stored_rows(codec->plane(Side::kValues, 0))[0], (Vector{-9, 9}));
  codec->drop(0, std::vector<std::int32_t>{0});
  values(3, 4);
  codec->drop(1, std::vector<std::int32_t>{1});
  values(3, 2);
  codec->drop(1, std::vector<std::int32_t>{0, 1});
  values(2, 1);  // the second token has none in head 0, the third -7
  codec->drop(0, std::vector<std::int32_t>{0, 1});
  values(0, 0);
}

/// A policy kept different prompt tokens in different heads, and more in one of them: the first tokens of all heads
/// share data, then the second ones, and so on.
TEST(FormatKvquant, TokensStandSideBySideInOtherHeads) {
  const Shape shape{.query_heads = 2, .kv_heads = 2, .key_size = 1, .value_size = 2};
  const auto codec = codec_of("kvquant:bits=2,outliers=0", shape, 5);
  const std::vector<std::int64_t> few{3}, most{0, 4};
  const Vector key{1}, keys{1, 2}, value{0, 8}, values{2, 4, 5, 5};
  codec->append(std::vector<HeadTokens>{{few, key, value}, {most, keys, values}});
  codec->end_prompt({});
  EXPECT_EQ(codec->coded(Side::kValues, 0, 0, 0).scale, 4);
  EXPECT_EQ(codec->coded(Side::kValues, 1, 0, 0).scale, 4) << "0 to 8, those of token 3 of the other head";
  EXPECT_EQ(codec->coded(Side::kValues, 1, 1, 0).zero, 5) << "token 4 alone";
  EXPECT_EQ(codec->regions(Side::kValues).scales, 2 * 2);
  codec->append(std::vector<HeadTokens>{{std::vector<std::int64_t>{5}, key, value},
                                        {std::vector<std::int64_t>{5}, key, value}});
  EXPECT_EQ(codec->regions(Side::kValues).scales, 2 * 3);
}

/// Later keys beyond all of the prompt get the nearest code if no outliers are stored; with a share of outliers they
/// are stored exactly.
TEST(FormatKvquant, WithoutOutliersNothingIsStoredExactly) {
  const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 1, .value_size = 1};
  const Layer layer{
      .shape = shape, .keys = {{{0}, {1}, {3}, {-5}, {77}}}, .values = {Rows(5, {1})}, .queries = {}};
  for (const std::string outliers : {"0", "0.01"}) {
    const auto codec = codec_of("kvquant:outliers=" + outliers, shape, 3);
    append(*codec, layer, 0, 3);
    codec->end_prompt({.tokens = 3, .heads = layer.queries});
    for (std::int64_t t = 3; t < 5; ++t) append(*codec, layer, t, t + 1);
    const bool none = outliers == "0";
    EXPECT_EQ(stored_rows(codec->plane(Side::kKeys, 0)),
              none ? (Rows{{0}, {1}, {3}, {0}, {3}}) : (Rows{{0}, {1}, {3}, {-5}, {77}}));
    EXPECT_EQ(codec->regions(Side::kKeys).exact, none ? 0 : 4);
    EXPECT_EQ(codec->regions(Side::kKeys).index, none ? 0 : 4 + 4 * 5);
  }
}

/// The pyramid manager's example in the design notes: sizes on a line from max_len to ratio max_len, rounded down.
TEST(FormatPyramid, KeepsTheLastTokens) {
  const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 4, .value_size = 4};
  Random random(1);
  const Layer layer = random_layer(random, shape, 30);
  for (const auto& [number, size] :
       std::map<int, std::int32_t>{{0, 20}, {1, 17}, {2, 15}, {3, 12}, {4, 11}}) {
    const auto codec = codec_of(
        "pyramid-int8:max_len=20,ratio=0.5,layers=5,min_size=11,layer=" + std::to_string(number), shape, 10);
    append(*codec, layer, 0, 10);
    codec->end_prompt({.tokens = 10, .heads = layer.queries});
    EXPECT_EQ(codec->plane(Side::kKeys, 0).tokens(), std::min(10, size));
    for (std::int64_t t = 10; t < 30; ++t) {
      append(*codec, layer, t, t + 1);
      EXPECT_LE(codec->plane(Side::kKeys, 0).tokens(), size + 1);
      codec->end_step();
    }
    EXPECT_EQ(codec->plane(Side::kValues, 0).tokens(), size);
    EXPECT_EQ(codec->positions(0).front(), 30 - size);
    EXPECT_EQ(codec->regions(Side::kKeys).scales, 4 * size) << "each of them was an append";
  }
}

}  // namespace
}  // namespace kvplan::formats::test
