// Formats, step by step, against their slow second implementations, on random layers, parameters and lengths.
#include <gtest/gtest.h>

#include "tests/unit/formats/support.h"

namespace kvplan::formats::test {
namespace {

struct Case {
  std::string format;
  std::map<std::string, std::string> params;
  std::int32_t channels;  ///< a divisor of keys and values

  [[nodiscard]] std::string text() const {
    std::string out = format;
    char separator = ':';
    for (const auto& [name, value] : params) {
      out.append(1, separator).append(name).append("=").append(value);
      separator = ',';
    }
    return out;
  }
};

Case random_case(Random& random) {
  const auto whole = [&](std::int64_t low, std::int64_t high) {
    return std::to_string(random.between(low, high));
  };
  const auto one_of = [&](std::vector<std::string> choices) { return choices[random.below(choices.size())]; };
  const std::string bits = whole(2, 8);
  switch (random.below(10)) {
    case 0:
      return {"full", {}, 1};
    case 1:
      return {"int-token",
              {{"bits", bits}, {"group", one_of({"0", "3", "1"})}, {"symmetric", one_of({"true", "false"})}},
              3};
    case 2:
      return {"int-channel", {{"bits", bits}, {"group", whole(1, 7)}}, 1};
    case 3: {
      const std::int64_t group = random.between(1, 4);
      return {"kivi",
              {{"bits", bits},
               {"group", std::to_string(group)},
               {"residual", std::to_string(group * random.between(1, 3))}},
              static_cast<std::int32_t>(group)};
    }
    case 4:
      return {"mixed",
              {{"bits", bits},
               {"middle_bits", whole(2, 8)},
               {"recent", whole(0, 6)},
               {"middle", whole(0, 6)},
               {"group", one_of({"0", "2"})}},
              2};
    case 5:
      return {"int-tensor",
              {{"bits", bits},
               {"scale", one_of({"chunk", "static", "running"})},
               {"rounding", one_of({"even", "trunc"})}},
              1};
    case 6:
      return {"fp8",
              {{"type", one_of({"e4m3", "e5m2"})},
               {"scale", one_of({"one", "amax"})},
               {"per", one_of({"tensor", "head"})}},
              1};
    case 7:
      return {"nvfp4", {}, 16};
    case 8:
      return {"mxfp4", {}, 32};
    default:
      return {"sparse", {{"density", one_of({"0", "0.2", "0.5", "0.33", "1"})}}, 1};
  }
}

void expect_same(const Regions& found, const Regions& expected) {
  EXPECT_EQ(found.codes, expected.codes);
  EXPECT_EQ(found.scales, expected.scales);
  EXPECT_EQ(found.zeros, expected.zeros);
  EXPECT_EQ(found.index, expected.index);
  EXPECT_EQ(found.factors, expected.factors);
  EXPECT_EQ(found.centroids, expected.centroids);
  EXPECT_EQ(found.exact, expected.exact);
}

void compare(const Case& of, const Layer& layer, const Codec& codec, std::int64_t prompt,
             std::int64_t tokens) {
  for (const Side side : kSides) {
    NaiveInput input{
        .format = of.format, .params = of.params, .heads = {}, .prompt = prompt, .keys = side == Side::kKeys};
    for (const Rows& rows : layer.side(side))
      input.heads.emplace_back(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(tokens));
    const NaiveState expected = naive_state(input);
    expect_same(codec.regions(side), expected.bytes);
    for (std::int32_t h = 0; h < layer.shape.kv_heads; ++h)
      ASSERT_EQ(stored_rows(codec.plane(side, h)), expected.stored[static_cast<std::size_t>(h)])
          << "head " << h;
  }
}

TEST(FormatNaive, EveryStepIsWhatTheDefinitionGives) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed, "formats");
    const Case of = random_case(random);
    const auto heads = static_cast<std::int32_t>(random.between(1, 3));
    const Shape shape{.query_heads = heads * 2,
                      .kv_heads = heads,
                      .key_size = of.channels * static_cast<std::int32_t>(random.between(1, 3)),
                      .value_size = of.channels * static_cast<std::int32_t>(random.between(1, 3))};
    const std::int64_t prompt = random.between(1, 20);
    const std::int64_t tokens = prompt + random.between(0, 25);
    const Layer layer = random_layer(random, shape, tokens);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + of.text());
    const auto codec = codec_of(of.text(), shape, prompt);
    append(*codec, layer, 0, prompt);
    codec->end_prompt({.tokens = prompt, .heads = layer.queries});
    ASSERT_NO_FATAL_FAILURE(compare(of, layer, *codec, prompt, prompt));
    for (std::int64_t t = prompt; t < tokens; ++t) {
      append(*codec, layer, t, t + 1);
      codec->end_step();
      ASSERT_NO_FATAL_FAILURE(compare(of, layer, *codec, prompt, t + 1)) << "token " << t;
      if (::testing::Test::HasFailure()) return;
    }
    ++seen[of.format];
  }
  EXPECT_EQ(seen.size(), 10U);
}

}  // namespace
}  // namespace kvplan::formats::test
