// Units, random streams, JSON text and suggestions, each compared with a value worked out by hand or a second way.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <set>

#include "simulator/base/json_writer.h"
#include "simulator/base/random.h"
#include "simulator/base/result.h"
#include "simulator/base/suggest.h"
#include "simulator/base/units.h"

namespace kvplan {
namespace {

static_assert(ceil_div(17, 16) == 2 && ceil_div(16, 16) == 1 && ceil_div(0, 16) == 0);
static_assert(ns_floor(Ticks{1023}) == 0 && ns_floor(Ticks{1024}) == 1 && ns_floor(Ticks{-1}) == -1);

TEST(Random, SplitMix64KnownSequence) {
  // First outputs for state 1234567, as published with the generator (prng.di.unimi.it/splitmix64.c).
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ULL);
  EXPECT_EQ(random.next(), 3203168211198807973ULL);
  EXPECT_EQ(random.next(), 9817491932198370423ULL);
}

TEST(Random, StreamsOfDifferentNamesDiffer) {
  std::set<std::uint64_t> first;
  for (const auto* name : {"arrivals", "lengths", "arrival", ""}) first.insert(Random(7, name).next());
  EXPECT_EQ(first.size(), 4U);
  EXPECT_EQ(Random(7, "arrivals").next(), Random(7, "arrivals").next());
}

TEST(Random, BelowCoversItsRangeEvenly) {
  Random random(1, "even");
  std::array<int, 7> seen{};
  for (int i = 0; i < 70000; ++i) ++seen.at(random.below(7));
  for (const int count : seen) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(random.between(-3, -3), -3);
}

TEST(JsonWriter, WritesWhatItIsGiven) {
  JsonWriter json(0);
  json.begin_object();
  json.member("n", std::int64_t{9007199254740993});
  json.member("x", 0.1).member("bad", std::numeric_limits<double>::quiet_NaN());
  json.member("t", "a\"b\n\x01").member("none", std::optional<double>{});
  json.key("list").begin_array().value(true).begin_object().end_object().end_array();
  json.end_object();
  EXPECT_EQ(json.take(),
            "{\"n\":9007199254740993,\"x\":0.1,\"bad\":null,\"t\":\"a\\\"b\\n\\u0001\",\"none\":null,"
            "\"list\":[true,{}]}\n");
}

TEST(JsonWriter, DigitsStayAsTheyWereGiven) {
  const auto written = [](std::string_view text) { return JsonWriter(0).digits(text).take(); };
  for (const char* same :
       {"0", "12", "0.5", "1e-3", "989e12", "-2.50", "1E+9", "0.1000000000000000055511151231"})
    EXPECT_EQ(written(same), std::string(same) + "\n");
  // Forms that JSON does not accept.
  EXPECT_EQ(written(".5"), "0.5\n");
  EXPECT_EQ(written("-.5e1"), "-0.5e1\n");
  EXPECT_EQ(written("5."), "5\n");
  EXPECT_EQ(written("5.e2"), "5e2\n");
  EXPECT_EQ(written("007"), "7\n");
  EXPECT_EQ(written("000"), "0\n");
  EXPECT_EQ(written("00.50"), "0.50\n");
}

TEST(JsonWriter, IsAlwaysUtf8) {
  const auto written = [](std::string_view text) { return JsonWriter(0).value(text).take(); };
  EXPECT_EQ(written("a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80"), "\"a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80\"\n");
  // A stray byte, an overlong slash, a surrogate, a cut character: one replacement character for each bad
  // byte.
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(written("x\xFFy"), "\"x" + bad + "y\"\n");
  EXPECT_EQ(written("\xC0\xAF"), "\"" + bad + bad + "\"\n");
  EXPECT_EQ(written("\xED\xA0\x80"), "\"" + bad + bad + bad + "\"\n");
  EXPECT_EQ(written("\xE4\xB8"), "\"" + bad + bad + "\"\n");
}

TEST(Suggest, NearestName) {
  constexpr std::array<std::string_view, 3> kNames{"window", "streaming-llm", "h2o"};
  EXPECT_EQ(nearest_name("windwo", kNames), "window");
  EXPECT_EQ(nearest_name("streamingllm", kNames), "streaming-llm");
  EXPECT_EQ(nearest_name("zebra", kNames), "");
  EXPECT_EQ(unknown_name("policy", "windwo", kNames),
            "unknown policy \"windwo\"; did you mean \"window\"? (known: window, streaming-llm, h2o)");
  EXPECT_EQ(unknown_name("policy", "ze\nbra", kNames),
            "unknown policy \"ze?bra\" (known: window, streaming-llm, h2o)");
}

TEST(Suggest, AFewNearNamesOfMany) {
  constexpr std::array<std::string_view, 6> kNames{"paged", "paged-view", "growing", "lru", "plru", "Qwen3"};
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(near_names("pagde", kNames, 5), (Names{"paged"}));
  EXPECT_EQ(near_names("page", kNames, 5), (Names{"paged", "paged-view"}))
      << "slips first, then what contains it";
  EXPECT_EQ(near_names("page", kNames, 1), (Names{"paged"}));
  EXPECT_EQ(near_names("qwen3-next", kNames, 5), (Names{"Qwen3"})) << "what begins it, in either case";
  EXPECT_EQ(near_names("LRU", kNames, 5), (Names{"lru", "plru"}));
  EXPECT_EQ(near_names("zebra", kNames, 5), Names{});
  EXPECT_EQ(near_names("", kNames, 5), Names{});
  EXPECT_EQ(near_names(std::string(65, 'l'), kNames, 5), Names{});
  EXPECT_EQ(unknown_name_of_many("name", "page", kNames, "list shows all"),
            "unknown name \"page\"; did you mean \"paged\" or \"paged-view\"? list shows all");
  EXPECT_EQ(unknown_name_of_many("name", "ze\nbra", kNames, "list shows all"),
            "unknown name \"ze?bra\"; list shows all");
}

TEST(Result, ErrorTextIsOneHarmlessLine) {
  EXPECT_EQ(bad_input("found \"a\nb\x1B[2J\"").to_string(), "found \"a\\x0Ab\\x1B[2J\"");
}

TEST(Result, ErrorTextNamesThePlace) {
  EXPECT_EQ(bad_input("expected a number").at_file("a.csv").at_line(3).at_field("input").to_string(),
            "a.csv:3: input: expected a number");
  EXPECT_EQ(bad_input("checksum differs").at_file("a.kvt").at_byte(12).to_string(),
            "a.kvt: byte 12: checksum differs");
}

}  // namespace
}  // namespace kvplan
