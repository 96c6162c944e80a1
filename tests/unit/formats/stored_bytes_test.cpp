// Bytes that formats store, by hand and compared with golden cases.
#include <gtest/gtest.h>
#include <simdjson.h>
#include <filesystem>
#include <set>
#include <sstream>

#include "tests/unit/formats/lengths_support.h"
#include "tests/unit/formats/support.h"

namespace kvplan::formats::test {
namespace {

namespace dom = simdjson::dom;

/// Numbers that differ from a rule's assumption take other bytes at equal lengths, so the assumption must be stated.
TEST(FormatLengths, OtherNumbersTakeOtherBytesThanAssumed) {
  const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 8, .value_size = 8};
  for (const FormatKind* kind : formats()) {
    if (kind->lengths.assumes.empty()) continue;
    std::set<std::int64_t> totals;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed);
      const Layer layer = random_layer(random, shape, 40);
      const auto codec = codec_of(std::string(kind->descriptor.name), shape, 20);
      append(*codec, layer, 0, 20);
      codec->end_prompt({.tokens = 20, .heads = layer.queries});
      for (std::int64_t t = 20; t < 40; ++t) append(*codec, layer, t, t + 1);
      totals.insert(codec->total_bytes());
    }
    EXPECT_GT(totals.size(), 1U) << kind->descriptor.name;
  }
}

/// 3 bits, 1 % of outliers and heads of 128 channels: the shares by hand.
TEST(FormatLengths, OutliersAreSharesInWholeNumbers) {
  const Shape shape{.query_heads = 8, .kv_heads = 8, .key_size = 128, .value_size = 400};
  const auto of = [&](const std::string& text, const Lengths& lengths) {
    return bytes_from_lengths(choice_of(text), shape, lengths).value();
  };
  // Of 1000 numbers of a channel, 5 are above and 5 below; of 399, one each, since 0.005 x 399 = 1.995.
  EXPECT_EQ(of("kvquant", {.prompt = 1000}).keys.exact, 2 * 8 * 128 * 10);
  EXPECT_EQ(of("kvquant", {.prompt = 399}).keys.exact, 2 * 8 * 128 * 2);
  EXPECT_EQ(of("kvquant", {.prompt = 199}).keys.exact, 0);
  // A later key has 1024 elements: 10 of one, 102 of ten.
  EXPECT_EQ(of("kvquant", {.prompt = 199, .generated = 1}).keys.exact, 2 * 10);
  EXPECT_EQ(of("kvquant", {.prompt = 399, .generated = 10}).keys.exact, 2 * (8 * 128 * 2 + 102));
  // Of a token's 8 x 400 numbers of values 16 lie at either end, whenever it was added; positions take the same
  // number of bytes. A token has one pointer of 4 bytes on either side, and one scale and zero point of its values.
  const LayerBytes both = of("kvquant", {.prompt = 399, .generated = 10});
  EXPECT_EQ(both.values.exact, 2 * 409 * 32);
  EXPECT_EQ(both.values.index, 2 * 409 * 32 + 4 * 409);
  EXPECT_EQ(both.keys.index, 2 * (8 * 128 * 2 + 102) + 4 * 409);
  EXPECT_EQ(both.values.scales + both.values.zeros, 4 * 409);
  EXPECT_EQ(both.keys.scales + both.keys.zeros, 4 * 8 * 128);
  EXPECT_EQ(both.keys.centroids + both.values.centroids, 2 * 2 * 8);
  // The thresholds of a side file were learnt from other prompts, so all keys are treated like later ones.
  const LayerBytes told = of("kvquant:file=x", {.prompt = 399, .generated = 10});
  EXPECT_EQ(told.keys.exact, 2 * 4188);  // 0.01 x 1024 x 409 = 4188.16
  EXPECT_EQ(told.keys.scales + told.keys.zeros + told.keys.centroids + told.values.centroids, 0);
  EXPECT_EQ(told.values.exact, both.values.exact);
  EXPECT_EQ(of("kvquant:outliers=0", {.prompt = 399, .generated = 10, .dropped = 9}).total(),
            8 * 400 * (128 + 400) * 3 / 8 + 4 * 8 * 128 + 4 * 400 + 2 * 2 * 8);
}

/// If bytes follow from lengths with some parameters and not with others, the format states it for each.
TEST(FormatLengths, AnglesDecideWhereAThresholdKeepsTokens) {
  const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 8, .value_size = 8};
  for (const std::string rule : {"far", "near"}) {
    const auto of = [&](const std::string& layer) {
      return bytes_from_lengths(choice_of("minicache:layers=4,layer=" + layer + ",keep=" + rule), shape,
                                {.prompt = 20});
    };
    ASSERT_FALSE(of("2").ok());
    EXPECT_NE(of("2").error().to_string().find("angles decide"), std::string::npos);
    EXPECT_EQ(of("1").value().total(), 20 * 16 * 2) << "a layer that stays as it is";
    std::set<std::int64_t> totals;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed);
      const auto codec = codec_of("minicache:layers=4,layer=2,gamma=0.3,keep=" + rule, shape, 20);
      const Layer layer = random_layer(random, shape, 20, 1);
      append(*codec, layer, 0, 20);
      codec->end_prompt({.tokens = 20, .heads = layer.queries});
      totals.insert(codec->total_bytes());
    }
    EXPECT_GT(totals.size(), 1U);
  }
}

/// Each element of the smaller model takes 2 bytes, and all layers together those of its own formula.
TEST(FormatLengths, ASmallerModelTakesItsOwnBytes) {
  const Shape shape{.query_heads = 4, .kv_heads = 4, .key_size = 16, .value_size = 8};
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t layers = random.between(1, 9);
    const std::int64_t own_layers = random.between(1, layers);
    const std::int64_t heads = random.between(0, 5);
    const std::int64_t size = random.between(0, 20);
    const Lengths lengths{
        .prompt = random.between(1, 50), .generated = random.between(0, 9), .dropped = random.between(0, 1)};
    const FormatChoice format =
        choice_of("smaller-model:model_layers=" + std::to_string(own_layers) +
                  ",heads=" + std::to_string(heads) + ",size=" + std::to_string(size));
    const std::int64_t elements = (heads == 0 ? 4 : heads) * (size == 0 ? 16 + 8 : 2 * size);
    EXPECT_EQ(check_format(of_layer(format, 0, layers), shape, 1).ok(), elements <= 4 * (16 + 8));
    std::int64_t total = 0;
    for (std::int64_t l = 0; l < layers; ++l)
      total += bytes_from_lengths(of_layer(format, l, layers), shape, lengths).value().total();
    const std::int64_t channels = size == 0 ? 16 + 8 : 2 * size;
    EXPECT_EQ(total, own_layers * (heads == 0 ? 4 : heads) * channels * 2 * lengths.stored());
  }
  const Status refused = check_format(of_layer(choice_of("smaller-model:model_layers=5"), 0, 4), shape, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().to_string().find("at most the 4 layers"), std::string::npos);
  const auto error = [&](const std::string& more) {
    const Status found =
        check_format(of_layer(choice_of("smaller-model:model_layers=4," + more), 0, 4), shape, 1);
    return found.ok() ? std::string() : found.error().to_string();
  };
  const std::string limit =
      ", so that a layer stores at most the 96 elements per token that this model's does, found ";
  EXPECT_EQ(error("heads=5"), "smaller-model:heads: expected at most 4" + limit + "5");
  EXPECT_EQ(error("size=13"), "smaller-model:size: expected at most 12 with 4 heads" + limit + "13");
  EXPECT_EQ(error("heads=8,size=7"), "smaller-model:size: expected at most 6 with 8 heads" + limit + "7");
  EXPECT_EQ(error("heads=49,size=1"), "smaller-model:heads: expected at most 48" + limit + "49");
  EXPECT_EQ(error("heads=8,size=6") + error("heads=1,size=48"), "") << "as many elements in other heads";
}

const std::string kGolden = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/formats/";

std::string component(dom::element golden) {
  std::ostringstream out;
  std::string name{std::string_view(golden["format"])};
  std::replace(name.begin(), name.end(), '_', '-');
  out << name;
  char separator = ':';
  for (const auto& [key, value] : dom::object(golden["params"])) {
    out << separator << key << '=';
    if (value.is_string()) {
      out << std::string_view(value);
    } else {
      out << simdjson::minify(value);
    }
    separator = ',';
  }
  return out.str();
}

/// The columns of both sides and their total.
std::string columns(const LayerBytes& bytes) {
  return text_of(bytes.keys) + text_of(bytes.values) + std::to_string(bytes.total());
}
std::string columns(dom::element golden) {
  std::string out;
  for (const dom::element number : dom::array(golden))
    out += (out.empty() ? "" : " ") + simdjson::minify(number);
  return out;
}

/// SnapKV drops prompt tokens and no later ones; this follows from lengths.
TEST(FormatLengths, BytesOfTheGoldenCases) {
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden + "cases")) {
    if (entry.path().stem().string().starts_with("analysis")) continue;
    SCOPED_TRACE(entry.path().stem().string());
    dom::parser golden_parser;
    dom::parser input_parser;
    const dom::element golden = golden_parser.load(entry.path().string());
    const dom::element input = input_parser.load(kGolden + std::string(std::string_view(golden["input"])));
    const auto number = [&](const char* key) { return static_cast<std::int32_t>(std::int64_t(input[key])); };
    const Shape shape{.query_heads = number("query_heads"),
                      .kv_heads = number("kv_heads"),
                      .key_size = number("head_dim"),
                      .value_size = number("head_dim")};
    const FormatChoice format = choice_of(component(golden));
    Lengths lengths{.prompt = golden["prefill_len"]};
    if (!golden["evict"].is_null())
      lengths.prompt = std::min<std::int64_t>(lengths.prompt, golden["evict"]["params"]["capacity"]);
    const auto told = [&] {
      const auto found = bytes_from_lengths(format, shape, lengths);
      return found.ok() ? columns(found.value()) : found.error().to_string();
    };
    EXPECT_EQ(told(), columns(golden["after_prefill"]["bytes"]));
    for (const dom::element step : dom::array(golden["steps"])) {
      ++lengths.generated;
      ASSERT_EQ(told(), columns(step["bytes"])) << "t = " << std::int64_t(step["t"]);
    }
    ++cases;
  }
  EXPECT_EQ(cases, 33U);
}

}  // namespace
}  // namespace kvplan::formats::test
