// Values read from text. Expected times come from `date -u -d TEXT +%s%N`, or from the arithmetic next to them.
#include "traces/import/fields.h"

#include <gtest/gtest.h>

#include "simulator/base/random.h"
#include "traces/import/json_cursor.h"

namespace kvplan::traces {
namespace {

std::optional<std::int64_t> iso(std::string_view text) {
  IsoTimeParser parser;
  return parser.parse(text);
}

TEST(IsoTime, DialectsOfTheAzureFiles) {
  EXPECT_EQ(iso("2023-11-16 18:15:46.6805900"), 1700158546680590000);
  EXPECT_EQ(iso("2024-05-10 00:00:00.009930+00:00"), 1715299200009930000);
  EXPECT_EQ(iso("2024-05-12 00:00:00+00:00"), 1715472000000000000);
  EXPECT_EQ(iso("2024-10-15T12:00:00.269Z"), 1728993600269000000);
}

TEST(IsoTime, ZeroToNineFractionDigitsAreExact) {
  const std::string digits = "123456789";
  std::int64_t expected = 0;
  std::int64_t place = 100'000'000;
  for (std::size_t n = 1; n <= digits.size(); ++n, place /= 10) {
    expected += (digits[n - 1] - '0') * place;
    EXPECT_EQ(iso("1970-01-01 00:00:00." + digits.substr(0, n)), expected);
  }
  EXPECT_EQ(iso("1970-01-01 00:00:00.1234567891"), std::nullopt);
  EXPECT_EQ(iso("1970-01-01 00:00:00."), std::nullopt);
}

TEST(IsoTime, ZonesAndLeapDays) {
  EXPECT_EQ(iso("1970-01-01T02:30:00+02:30"), 0);
  EXPECT_EQ(iso("1970-01-01T02:30:00+0230"), 0);
  EXPECT_EQ(iso("1969-12-31T19:00:00-05"), 0);
  EXPECT_EQ(iso("1969-12-31 23:59:59.999999999"), -1);
  EXPECT_EQ(iso("2000-02-29 00:00:00"), 951782400000000000);
  EXPECT_EQ(iso("1900-02-29 00:00:00"), std::nullopt);
  EXPECT_EQ(iso("2023-02-29 00:00:00"), std::nullopt);
  EXPECT_EQ(iso("1678-01-01 00:00:00"), -9214560000000000000);
  EXPECT_EQ(iso("1677-12-31 23:59:59"), std::nullopt);
  EXPECT_EQ(iso("2262-01-01 00:00:00"), std::nullopt);
}

TEST(IsoTime, RejectsWhatIsNoTime) {
  for (const char* text :
       {"", "2023-11-16", "2023-11-16 18:15", "2023-13-16 18:15:46", "2023-11-31 18:15:46",
        "2023-11-16 24:00:00", "2023-11-16 18:60:00", "2023-11-16 18:15:60", "2023-11-16x18:15:46",
        "2023/11/16 18:15:46", "2023-11-16 18:15:46+25:00", "2023-11-16 18:15:46+1:00",
        "2023-11-16 18:15:46 CET", "-023-11-16 18:15:46", "nan", "NaN-11-16 18:15:46"})
    EXPECT_EQ(iso(text), std::nullopt) << text;
}

TEST(IsoTime, KeepingTheLatestDateChangesNothing) {
  IsoTimeParser kept;
  Random random(1, "iso");
  for (int i = 0; i < 2000; ++i) {
    char text[40];
    std::snprintf(text, sizeof text, "%04d-%02d-%02d %02d:%02d:%02d",
                  static_cast<int>(random.between(1999, 2001)), static_cast<int>(random.between(1, 13)),
                  static_cast<int>(random.between(27, 32)), static_cast<int>(random.between(0, 23)),
                  static_cast<int>(random.between(0, 59)), static_cast<int>(random.between(0, 59)));
    EXPECT_EQ(kept.parse(text), iso(text)) << text;
  }
}

TEST(TimeNumber, UnitsAreExact) {
  EXPECT_EQ(parse_time_number("27482", TimeUnit::kMillis), 27482000000);
  EXPECT_EQ(parse_time_number("0.000316", TimeUnit::kSeconds), 316000);
  EXPECT_EQ(parse_time_number("1799.999462", TimeUnit::kSeconds), 1799999462000);
  EXPECT_EQ(parse_time_number("12.5", TimeUnit::kMicros), 12500);
  EXPECT_EQ(parse_time_number("7", TimeUnit::kNanos), 7);
  EXPECT_EQ(parse_time_number("1.5e-05", TimeUnit::kSeconds), 15000);
  EXPECT_EQ(parse_time_number("1E3", TimeUnit::kMillis), 1000000000);
  EXPECT_EQ(parse_time_number("0", TimeUnit::kSeconds), 0);
  EXPECT_EQ(parse_time_number("0e99", TimeUnit::kSeconds), 0);
}

TEST(TimeNumber, FinerThanANanosecondRoundsHalfUp) {
  EXPECT_EQ(parse_time_number("0.3000000005", TimeUnit::kSeconds), 300000001);
  EXPECT_EQ(parse_time_number("0.30000000049999999999999999999", TimeUnit::kSeconds), 300000000);
  EXPECT_EQ(parse_time_number("0.9999999999", TimeUnit::kSeconds), 1000000000);
  EXPECT_EQ(parse_time_number("4e-10", TimeUnit::kSeconds), 0);
  EXPECT_EQ(parse_time_number("5e-10", TimeUnit::kSeconds), 1);
  EXPECT_EQ(parse_time_number("5e-11", TimeUnit::kSeconds), 0);
}

TEST(TimeNumber, RejectsSignsWordsAndOverflow) {
  for (const char* text : {"", "-1", "+1", "nan", "inf", "1 ", "1..2", ".", "1e", "1e+", "0x10", "1,5",
                           "9223372037", "1e10", "99999999999999999999", "1e999", "--5", "1e-"})
    EXPECT_EQ(parse_time_number(text, TimeUnit::kSeconds), std::nullopt) << text;
  EXPECT_EQ(parse_time_number("9223372036.854775807", TimeUnit::kSeconds), INT64_MAX);
  EXPECT_EQ(parse_time_number("9223372036.854775808", TimeUnit::kSeconds), std::nullopt);
}

TEST(Counts, WholeNumbersInRange) {
  EXPECT_EQ(parse_count("0"), 0);
  EXPECT_EQ(parse_count("2147483647"), INT32_MAX);
  EXPECT_EQ(parse_count("374.0"), 374);
  for (const char* text :
       {"", "2147483648", "-1", "1.5", "1.", "nan", "1e3", " 1", "99999999999999999999999"})
    EXPECT_EQ(parse_count(text), std::nullopt) << text;
  EXPECT_EQ(parse_id("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_id("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_id("-1"), std::nullopt);
}

TEST(Shown, OneLineWhateverWasFound) {
  EXPECT_EQ(shown("a\nb\x01"), "\"a\\x0ab\\x01\"");
  EXPECT_EQ(shown(std::string(100, 'x')).size(), 45u);
}

TEST(JsonText, EscapesBecomeUtf8) {
  std::string out;
  EXPECT_TRUE(unescape(R"(a\"\\\/\b\f\n\r\tz)", out));
  EXPECT_EQ(out, "a\"\\/\b\f\n\r\tz");
  EXPECT_TRUE(unescape(R"(\u00e9\u20AC\ud83d\ude00)", out));
  EXPECT_EQ(out, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_FALSE(unescape(R"(\x41)", out));
  EXPECT_FALSE(unescape(R"(\u12g4)", out));
  EXPECT_FALSE(unescape("\\", out));
}

TEST(JsonCursor, SkipsOnlyWhatIsAValue) {
  for (const char* good :
       {"1", "-1.5e+3", "\"a\\\"b\"", "[]", "{}", "[1,[2,{\"a\":null}],true]", "{\"a\":{\"b\":[]}}"}) {
    JsonCursor json(good);
    EXPECT_TRUE(json.skip_value() && json.at_end()) << good;
  }
  for (const char* bad :
       {"", "]", "[1", "[1}", "{\"a\":1", "\"a", "\"a\\", "nul", "[1 2]", "\"a\nb\"", "x"}) {
    JsonCursor json(bad);
    EXPECT_FALSE(json.skip_value() && json.at_end()) << bad;
  }
  const std::string nested(100000, '[');
  JsonCursor deep(nested);
  EXPECT_FALSE(deep.skip_value());
}

}  // namespace
}  // namespace kvplan::traces
