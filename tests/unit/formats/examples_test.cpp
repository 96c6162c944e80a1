// Examples small enough to check by hand: codes, decoded numbers, and exact tokens. They were worked out on paper,
// independently of this program.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/formats/small_floats.h"
#include "tests/unit/formats/support.h"

namespace kvplan::formats::test {
namespace {

/// A codec with these numbers of one head as its prompt, as keys and as values.
std::unique_ptr<Codec> prompt_of(const std::string& text, const Rows& rows) {
  const auto size = static_cast<std::int32_t>(rows[0].size());
  const Shape shape{.key_size = size, .value_size = size};
  const auto tokens = static_cast<std::int64_t>(rows.size());
  const Layer layer{.shape = shape, .keys = {rows}, .values = {rows}, .queries = {}};
  auto out = codec_of(text, shape, tokens);
  append(*out, layer, 0, tokens);
  out->end_prompt({.tokens = tokens, .heads = layer.queries});
  return out;
}

std::vector<std::int64_t> codes_of(const Codec& codec) {
  std::vector<std::int64_t> out;
  for (std::int32_t c = 0; c < codec.shape().key_size; ++c)
    out.push_back(codec.coded(Side::kKeys, 0, 0, c).code.value());
  return out;
}

void expect_stored(const Codec& codec, const Vector& expected, double within) {
  const auto stored = codec.plane(Side::kKeys, 0).stored(0);
  ASSERT_EQ(stored.size(), expected.size());
  for (std::size_t c = 0; c < expected.size(); ++c) EXPECT_NEAR(stored[c], expected[c], within) << c;
}

double largest_error(const Codec& codec, const Vector& x) {
  double out = 0;
  for (std::size_t c = 0; c < x.size(); ++c)
    out = std::max(out, std::fabs(codec.plane(Side::kKeys, 0).stored(0)[c] - x[c]));
  return out;
}

/// A scale of .01 and errors 0 .004 .003 0, at most half of it; truncation would give 63 instead of 64, off by .007.
TEST(FormatExamples, EightBitsAroundZero) {
  const Vector x{-1.27, .004, .637, 1.0};
  for (const std::string format : {"int-tensor", "int-token:symmetric=true"}) {
    SCOPED_TRACE(format);
    const auto codec = prompt_of(format, {x});
    EXPECT_EQ(codes_of(*codec), (std::vector<std::int64_t>{-127, 0, 64, 100}));
    EXPECT_NEAR(codec->coded(Side::kKeys, 0, 0, 0).scale.value(), .01, 3e-6);  // of a token it is binary16
    expect_stored(*codec, {-1.27, 0, .64, 1.0}, 3e-4);
  }
  const auto rounded = prompt_of("int-tensor", {x});
  expect_stored(*rounded, {-1.27, 0, .64, 1.0}, 1e-7);
  EXPECT_NEAR(largest_error(*rounded, x), .004, 1e-7);
  EXPECT_LE(largest_error(*rounded, x), .01 / 2);
  const auto truncated = prompt_of("int-tensor:rounding=trunc", {x});
  EXPECT_EQ(codes_of(*truncated), (std::vector<std::int64_t>{-127, 0, 63, 100}));
  EXPECT_NEAR(largest_error(*truncated, x), .007, 1e-7);
  EXPECT_LT(largest_error(*truncated, x), .01);
}

/// Steps of .75 from -1 on; 1.5 steps are rounded to the even number 2, with an error of half a step.
TEST(FormatExamples, TwoBitsBetweenLeastAndGreatest) {
  const Vector x{-1, -.25, .125, 1.25};
  const auto codec = prompt_of("int-token:bits=2", {x});
  EXPECT_EQ(codes_of(*codec), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(codec->coded(Side::kKeys, 0, 0, 0).scale, .75);
  EXPECT_EQ(codec->coded(Side::kKeys, 0, 0, 0).zero, -1);
  expect_stored(*codec, {-1, -.25, .5, 1.25}, 0);
  EXPECT_EQ(largest_error(*codec, x), .375);
}

TEST(FormatExamples, EightBitFloats) {
  const auto expect = [](const std::string& type, const SmallFloat& format, const Vector& x,
                         const Vector& rounded) {
    expect_stored(*prompt_of("fp8:scale=one,type=" + type, {x}), rounded, 0);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(round_to(format, x[i]).value, rounded[i]) << x[i];
  };
  expect("e4m3", kE4m3, {.1, 300, 500, .001, -17}, {.1015625, 288, 448, .001953125, -16});
  expect("e5m2", kE5m2, {.1, 300, 500, .001}, {.09375, 320, 512, .0009765625});
}

/// The tensor's scale is 2.4 / 2688 and the block's 448, so that numbers are counted in .4; 2.0 are a little less than
/// the 5 between 4 and 6 and become 4.
TEST(FormatExamples, FourBitFloatsInABlock) {
  const Vector x{.02, -.11, .35, .5, -.75, 1.1, -1.3, 2, 0, .9, -.4, .28, 1.7, -.05, .6, -2.4};
  const auto codec = prompt_of("nvfp4", {x});
  EXPECT_NEAR(codec->coded(Side::kKeys, 0, 0, 0).scale.value(), .4, 1e-7);
  expect_stored(*codec, {0, -.2, .4, .4, -.8, 1.2, -1.2, 1.6, 0, .8, -.4, .2, 1.6, 0, .6, -2.4}, 1e-6);
  EXPECT_NEAR(largest_error(*codec, x), .4, 1e-6);
}

/// KIVI with residuals of 4 in groups of 2: of 6 tokens 4 keys and 2 values are encoded, of 7 the same number of keys
/// and 3 values, of 8 all keys.
TEST(FormatExamples, WhatKiviKeepsExactly) {
  const Shape shape{.key_size = 2, .value_size = 2};
  Random random(1);
  const Layer layer = random_layer(random, shape, 8);
  const auto codec = codec_of("kivi:residual=4,group=2", shape, 6);
  const auto expect = [&](std::int32_t tokens, std::int64_t exact_keys, std::int64_t exact_values) {
    EXPECT_EQ(codec->plane(Side::kKeys, 0).tokens(), tokens);
    EXPECT_EQ(codec->plane(Side::kKeys, 0).exact_tokens(), exact_keys);
    EXPECT_EQ(codec->plane(Side::kValues, 0).exact_tokens(), exact_values);
  };
  append(*codec, layer, 0, 6);
  codec->end_prompt({.tokens = 6, .heads = layer.queries});
  expect(6, 2, 4);
  append(*codec, layer, 6, 7);
  codec->end_step();
  expect(7, 3, 4);
  append(*codec, layer, 7, 8);
  expect(8, 4, 5);  // in the step that fills the tail, the tail is still read exactly
  codec->end_step();
  expect(8, 0, 4);
}

/// [[2, 2], [1, -1], [2, 2]] has the singular values 4 and 1.41421: that is the error of rank 1.
TEST(FormatExamples, RankOneOfASmallMatrix) {
  const Rows m{{2, 2}, {1, -1}, {2, 2}};
  const auto codec = prompt_of("svd:rank=1", m);
  double squares = 0;
  for (std::int32_t i = 0; i < 3; ++i)
    for (std::size_t c = 0; c < 2; ++c) {
      const double off = codec->plane(Side::kKeys, 0).stored(i)[c] - m[static_cast<std::size_t>(i)][c];
      squares += off * off;
    }
  EXPECT_NEAR(std::sqrt(squares), 1.41421, 5e-6);
}

double bits_per_element(const std::string& text, std::int32_t heads, std::int32_t size, std::int64_t tokens) {
  const Shape shape{.query_heads = heads, .kv_heads = heads, .key_size = size, .value_size = size};
  const auto bytes = bytes_from_lengths(parse_format(text).value(), shape, {.prompt = tokens});
  EXPECT_TRUE(bytes.ok()) << text;
  return 8 * static_cast<double>(bytes.value().total()) / static_cast<double>(2 * heads * size * tokens);
}

/// The passkey table of KVQuant, for the 32 heads of 128 channels of LLaMA-7B: 2, 3 and 4 bits with 1 % of outliers are
/// 2.33, 3.33 to 3.35 and 4.33. Here 40 of a token's 4096 numbers are outliers, although 1 % is 41. In addition there
/// are pointers of 32 bits for a key and for a value, and 32 bits of scale and zero point for a value. The bytes do not
/// depend on how the channels are divided into heads.
TEST(FormatExamples, AverageBitsOfKvquant) {
  for (int bits = 2; bits <= 4; ++bits) {
    const std::string text = "kvquant:bits=" + std::to_string(bits);
    const double found = bits_per_element(text, 32, 128, 32768);
    EXPECT_NEAR(found, bits + .33, .006);
    // Of a channel's 32,768 numbers 163 lie at either end; its own scale and zero point, and two tables.
    const double expected = bits + 32 * (326.0 / 32768 + 40.0 / 4096) / 2 + 32.0 / 4096 + 16.0 / 4096 +
                            16.0 / 32768 + 2 * 16.0 * (1 << bits) / (8192.0 * 32768);
    EXPECT_NEAR(found, expected, 1e-9);
    EXPECT_EQ(found, bits_per_element(text, 1, 4096, 32768));
  }
}

/// 3.0 + 13 (r_K + r_V) / 2T: 3.05 with the largest number of exact tokens.
TEST(FormatExamples, AverageBitsOfKivi) {
  EXPECT_NEAR(bits_per_element("kivi", 1, 128, 32767), 3.05, .005);
  EXPECT_NEAR(bits_per_element("kivi", 1, 128, 32767), 3 + 13.0 * (127 + 128) / (2 * 32767), 1e-9);
  EXPECT_NEAR(bits_per_element("kivi", 1, 128, 32768), 3 + 13.0 * 128 / (2 * 32768), 1e-9);
}

}  // namespace
}  // namespace kvplan::formats::test
