// Cases drawn at random: the form of ranges, the same cases for the same seed, and the frequency of each value.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "simulator/base/random.h"
#include "simulator/sweep/draw.h"

namespace kvplan::sweep {
namespace {

std::string spread_text(const std::string& text) {
  const auto spread = parse_spread("a.b=" + text);
  if (!spread) return spread.error().to_string();
  std::string out = spread.value().logarithmic ? "log " : "";
  for (const std::string& value : spread.value().of.values) out += value + "|";
  if (spread.value().of.values.empty())
    out += std::to_string(spread.value().low) + " to " + std::to_string(spread.value().high) + " / 10^" +
           std::to_string(spread.value().decimals);
  return out;
}

TEST(Draw, HowSpreadsAreWritten) {
  EXPECT_EQ(spread_text("x;y"), "x|y|");
  EXPECT_EQ(spread_text("1..5:2"), "1|3|5|");
  EXPECT_EQ(spread_text("1..5"), "1 to 5 / 10^0");
  EXPECT_EQ(spread_text("0.5..2"), "5 to 20 / 10^1");
  EXPECT_EQ(spread_text("0..1.25"), "0 to 125 / 10^2");
  EXPECT_EQ(spread_text("16..4096:log"), "log 16 to 4096 / 10^0");
  EXPECT_EQ(spread_text("0.010..1:log"), "log 10 to 1000 / 10^3");
  EXPECT_EQ(spread_text("../a..b"), "../a..b|");
  EXPECT_EQ(spread_text("0..9223372036854775807"), "0 to 9223372036854775807 / 10^0");
  EXPECT_EQ(spread_text("5..1"), "--vary a.b: expected A..B with A at most B, found \"5..1\"");
  EXPECT_EQ(spread_text("0..1:log"),
            "--vary a.b: expected a logarithmic range that begins above 0, found \"0..1:log\"");
  EXPECT_EQ(spread_text("0..9223372036854775808"),
            "--vary a.b: expected a range of numbers that fit 63 bits, found \"0..9223372036854775808\"");
  for (const char* text : {"-5..5:log", "-5..5", "1e3..1e5", "nan..1", "1..inf", "5..1e5:log", "5..x"})
    EXPECT_EQ(
        spread_text(text),
        "--vary a.b: expected A..B or A..B:log with numbers from 0 on, as digits with or without a point, "
        "found \"" +
            std::string(text) + "\"");
  EXPECT_EQ(spread_text("1..5;7"), "--vary a.b: expected A..B:STEP, found \"1..5\"");  // a range stands alone
  EXPECT_EQ(spread_text("1..5:lag"), "--vary a.b: expected A..B:STEP, found \"1..5:lag\"");
  EXPECT_EQ(parse_spread("=1..2").error().to_string(),
            "--vary: expected PATH=VALUE;VALUE;..., found \"=1..2\"");
}

std::vector<Spread> spreads(const std::vector<std::string>& texts) {
  std::vector<Spread> all;
  for (const std::string& text : texts) all.push_back(parse_spread(text).value());
  return all;
}

std::string text_of(const runs::Combinations& cases) {
  std::string text;
  for (std::int64_t i = 0; i < cases.count(); ++i) {
    for (const auto& [path, value] : cases.at(i)) text += path + "=" + value + " ";
    text += "\n";
  }
  return text;
}

TEST(Draw, TheSameSeedDrawsTheSameCases) {
  const auto all = spreads({"pool=1000..64000:log", "seats=8;16;32", "rate=0.50..4"});
  // The drawn cases are part of what a seed guarantees: they may not change with a compiler or a machine. (They were
  // also computed in Python, with its logarithms.)
  EXPECT_EQ(text_of(draw_cases(all, 4, 7).value()),
            "pool=1112 seats=16 rate=2.36 \npool=1147 seats=8 rate=0.67 \n"
            "pool=36397 seats=16 rate=3.35 \npool=20876 seats=16 rate=2.06 \n");
  const std::string many = text_of(draw_cases(all, 300, 7).value());
  const std::string few = text_of(draw_cases(all, 20, 7).value());
  EXPECT_EQ(many.substr(0, few.size()), few);
  EXPECT_NE(text_of(draw_cases(all, 20, 8).value()), few);
}

TEST(Draw, EveryCaseOnce) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto cases = draw_cases(spreads({"a=1..4", "b=x;y;z", "c=1..2:log"}), 24, seed);
    ASSERT_TRUE(cases.ok());
    std::set<runs::Varied> seen;
    for (std::int64_t i = 0; i < 24; ++i) seen.insert(cases.value().at(i));
    EXPECT_EQ(seen.size(), 24U);
    EXPECT_EQ(cases.value().varies()[0].values, (std::vector<std::string>{"1", "2", "3", "4"}));
  }
  int asked = 0;
  EXPECT_EQ(draw_cases(spreads({"a=1..1000000"}), 1'000'000, 1, [&] { return ++asked == 3; }).error().kind,
            ErrorKind::kInterrupted);
  EXPECT_EQ(draw_cases(spreads({"a=1..4", "b=x;y;z"}), 13, 1).error().to_string(),
            "--random: expected at most 12 different cases, because there are no more; found 13");
  EXPECT_EQ(draw_cases(spreads({"a=1..4", "a=x;y;z"}), 3, 1).error().to_string(),
            "--vary: expected each path once, found a again");
  EXPECT_EQ(draw_cases(spreads({"a=0.000000000000000001..1:log", "b=x"}), 200, 1).value().count(), 200);
  // The last cases need more draws than the limit.
  EXPECT_NE(draw_cases(spreads({"a=1..400", "b=1..400"}), 160'000, 1)
                .error()
                .to_string()
                .find("--random: almost every remaining draw repeats an earlier case after "),
            std::string::npos);
}

TEST(Draw, NumbersComeAsOftenAsTheScaleSays) {
  constexpr int kDraws = 400'000;
  std::map<std::int64_t, int> counts;
  Random random(3, "draws");
  for (int i = 0; i < kDraws; ++i) ++counts[logarithmic_draw(3, 20, random.next())];
  ASSERT_EQ(counts.begin()->first, 3);
  ASSERT_EQ(counts.rbegin()->first, 20);
  const double all = std::log(21.0 / 3.0);
  for (std::int64_t k = 3; k <= 20; ++k) {
    const double share = std::log(static_cast<double>(k + 1) / static_cast<double>(k)) / all;
    const double sigma = std::sqrt(kDraws * share * (1 - share));
    EXPECT_NEAR(counts[k], kDraws * share, 5 * sigma) << k;
  }
}

TEST(Draw, TheScaleIsThatOfLogarithms) {
  // Compared with logarithms, which are exact to some digits: only the rounding down may differ.
  Random random(4, "draws");
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t low = random.between(1, std::int64_t{1} << random.below(40));
    const std::int64_t high = low + random.between(0, std::int64_t{1} << random.below(40));
    const std::uint64_t draw = random.next();
    const std::int64_t found = logarithmic_draw(low, high, draw);
    ASSERT_LE(low, found);
    ASSERT_LE(found, high);
    const double u = static_cast<double>(draw >> 11) * 0x1.0p-53;
    const double wanted = static_cast<double>(low) *
                          std::exp(u * std::log((static_cast<double>(high) + 1) / static_cast<double>(low)));
    EXPECT_NEAR(static_cast<double>(found), wanted, 1 + wanted * 1e-11) << low << " " << high << " " << draw;
  }
  EXPECT_EQ(logarithmic_draw(1, INT64_MAX, 0), 1);
  EXPECT_EQ(logarithmic_draw(1, 1'000'000'000, UINT64_MAX), 1'000'000'000);
  EXPECT_EQ(logarithmic_draw(INT64_MAX, INT64_MAX, 12345), INT64_MAX);
}

}  // namespace
}  // namespace kvplan::sweep
