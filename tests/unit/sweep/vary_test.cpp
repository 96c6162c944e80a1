// Varied values as they are written, and their combinations compared with nested loops.
#include <gtest/gtest.h>

#include "simulator/scenario/vary.h"
#include "simulator/sweep/shard.h"

namespace kvplan::runs {
namespace {

std::string values_of(const std::string& text) {
  const auto vary = parse_vary("a.b=" + text);
  if (!vary) return vary.error().to_string();
  std::string out;
  for (const std::string& value : vary.value().values) out += (out.empty() ? "" : "|") + value;
  return out;
}

TEST(Vary, ListsAndRanges) {
  EXPECT_EQ(values_of("x"), "x");
  EXPECT_EQ(values_of(" x ; y=1,z=2 "), "x|y=1,z=2");
  EXPECT_EQ(values_of("1..3:1"), "1|2|3");
  EXPECT_EQ(values_of("16..70:16;100"), "16|32|48|64|100");
  EXPECT_EQ(values_of("0.5..2:0.25"), "0.5|0.75|1|1.25|1.5|1.75|2");
  EXPECT_EQ(values_of("0..0.01:0.005"), "0|0.005|0.01");
  EXPECT_EQ(values_of("7..7:3"), "7");
  EXPECT_EQ(values_of("../a..b:1"), "../a..b:1");  // a path
  EXPECT_EQ(values_of("9223372036854775800..9223372036854775807:7"),
            "9223372036854775800|9223372036854775807");
}

TEST(Vary, Errors) {
  EXPECT_EQ(parse_vary("=1").error().to_string(), "--vary: expected PATH=VALUE;VALUE;..., found \"=1\"");
  EXPECT_EQ(values_of(""), "--vary a.b: expected a value between semicolons");
  EXPECT_EQ(values_of("1;;2"), "--vary a.b: expected a value between semicolons");
  EXPECT_EQ(values_of("1..3:1;2"), "--vary a.b: expected each value once, found \"2\" again");
  EXPECT_EQ(values_of("1..3"), "--vary a.b: expected A..B:STEP, found \"1..3\"");
  EXPECT_EQ(values_of("1..3:x"), "--vary a.b: expected A..B:STEP, found \"1..3:x\"");
  for (const char* text : {"-5..5:1", "1e3..1e5:1e3", "nan..1", "0..inf:1", "+1..3:1"})
    EXPECT_EQ(
        values_of(text),
        "--vary a.b: expected A..B:STEP with numbers from 0 on, as digits with or without a point, found \"" +
            std::string(text) + "\"");
  EXPECT_EQ(values_of("../a"), "../a");
  EXPECT_EQ(values_of("a1..5"), "a1..5");
  EXPECT_EQ(values_of("3..1:1"),
            "--vary a.b: expected A..B:STEP with A at most B and STEP above 0, found \"3..1:1\"");
  EXPECT_EQ(values_of("1..3:0"),
            "--vary a.b: expected A..B:STEP with A at most B and STEP above 0, found \"1..3:0\"");
  EXPECT_EQ(values_of("0..1000000:1"),
            "--vary a.b: expected a range of at most 1000000 values, found \"0..1000000:1\"");
  EXPECT_EQ(values_of("0..99999999999999999999:1"),
            "--vary a.b: expected a range of numbers that fit 63 bits, found \"0..99999999999999999999:1\"");
}

TEST(Combinations, AreNestedLoops) {
  const std::vector<Vary> varies{{"a", {"1", "2", "3"}}, {"b", {"x"}}, {"c", {"u", "v"}}};
  const auto all = Combinations::of(varies, 6);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all.value().count(), 6);
  std::int64_t number = 0;
  for (const char* a : {"1", "2", "3"})
    for (const char* c : {"u", "v"})
      EXPECT_EQ(all.value().at(number++), (Varied{{"a", a}, {"b", "x"}, {"c", c}}));
  const auto settings = all.value().settings({{"s", "0", {}, 0}}, 5);
  ASSERT_EQ(settings.size(), 4U);
  EXPECT_EQ(settings[0].path + settings[1].text + settings[3].text, "s3v");
  EXPECT_EQ(Combinations::of({}, 1).value().count(), 1);
  EXPECT_EQ(Combinations::of(varies, 5).error().to_string(), "--vary: expected at most 5 variants");
  EXPECT_EQ(Combinations::of({{"a", {"1"}}, {"a", {"2"}}}, 5).error().to_string(),
            "--vary: expected each path once, found a again");
}

TEST(Shard, IsWritten) {
  EXPECT_EQ(sweep::parse_shard("2/5").value(), (sweep::Shard{2, 5}));
  for (const char* text : {"", "2", "0/5", "6/5", "1/0", "1/2/3", "a/b", "-1/2"})
    EXPECT_FALSE(sweep::parse_shard(text).ok()) << text;
}

}  // namespace
}  // namespace kvplan::runs
