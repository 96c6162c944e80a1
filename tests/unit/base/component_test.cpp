// Descriptors, parsing of NAME:key=value, and exact decimal rounding.
#include <gtest/gtest.h>

#include <array>

#include "simulator/base/component.h"

namespace kvplan {
namespace {

constexpr std::array<std::string_view, 2> kPlacements{"holes", "reuse"};
constexpr std::array<Param, 2> kWindowParams{Param{.name = "window",
                                                   .help = "Tokens kept",
                                                   .unit = Unit::kTokens,
                                                   .fallback = "",
                                                   .low = 1,
                                                   .high = 1e9},
                                             Param{.name = "placement",
                                                   .help = "Where",
                                                   .kind = ParamKind::kText,
                                                   .fallback = "holes",
                                                   .choices = kPlacements}};
constexpr Descriptor kWindow{
    .family = "eviction", .name = "window", .summary = "s", .source = "kvplan", .params = kWindowParams};
constexpr std::array<const Descriptor*, 1> kAll{&kWindow};

std::string error_of(std::string_view text) {
  const auto parsed = parse_component(text, "eviction", kAll);
  return parsed.ok() ? "" : parsed.error().to_string();
}

TEST(Component, ParsesAndKeepsDefaults) {
  const auto choice = parse_component("window:window=128", "eviction", kAll);
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice.value().integer("window"), 128);
  EXPECT_EQ(choice.value().text("placement"), "holes");
  EXPECT_FALSE(choice.value().given("placement"));
  EXPECT_EQ(choice.value().to_string(), "window:window=128,placement=holes");
}

TEST(Component, CommasInQuotesAndBrackets) {
  static constexpr std::array<Param, 2> kParams{
      Param{.name = "score", .help = "h", .kind = ParamKind::kText, .fallback = {}},
      Param{.name = "file", .help = "h", .kind = ParamKind::kText, .fallback = "none"}};
  static constexpr Descriptor kExpr{
      .family = "eviction", .name = "expr", .summary = "s", .source = "kvplan", .params = kParams};
  static constexpr std::array<const Descriptor*, 1> kOne{&kExpr};
  const auto texts = [&](std::string_view text) {
    const auto parsed = parse_component(text, "eviction", kOne);
    if (!parsed.ok()) return "error: " + parsed.error().to_string();
    return parsed.value().text("score") + " | " + parsed.value().text("file");
  };
  EXPECT_EQ(texts("expr:score=\"a, b\",file=f"), "a, b | f");
  EXPECT_EQ(texts("expr:score=max(a,b),file=f"), "max(a,b) | f");
  EXPECT_EQ(texts("expr:score=[[1,2],[3]]"), "[[1,2],[3]] | none");
  EXPECT_EQ(texts("expr:score=a(b,file=f"), "a(b | f");  // the parenthesis does not close
  EXPECT_EQ(texts("expr:score=x\",file=f"), "x\" | f");
  // A written text is read back.
  const auto parsed = parse_component("expr:score=\"a, b\"", "eviction", kOne);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().to_string(), "expr:score=\"a, b\",file=none");
  EXPECT_EQ(texts(parsed.value().to_string()), "a, b | none");
}

TEST(Component, ErrorsNameThePlaceAndWhatExists) {
  EXPECT_EQ(error_of("windw"), "windw: unknown eviction \"windw\"; did you mean \"window\"? (known: window)");
  EXPECT_EQ(error_of("window:windw=1"),
            "window: unknown parameter \"windw\"; did you mean \"window\"? (known: window, placement)");
  EXPECT_EQ(error_of("window:window=0"),
            "window:window: expected a whole number from 1 to 1e+09 (tokens), found \"0\"");
  EXPECT_EQ(error_of("window:window=1,window=2"), "window:window: given twice");
  EXPECT_EQ(error_of("window:window=1,placement=x"),
            "window:placement: expected one of holes reuse, found \"x\"");
  EXPECT_EQ(error_of("window"), "window:window: parameter must be given: Tokens kept");
  EXPECT_EQ(error_of("window:1"), "window: expected key=value, found \"1\"");
  const Descriptor bare{.family = "eviction", .name = "none", .summary = "", .source = "", .params = {}};
  const Descriptor* const all[] = {&bare};
  EXPECT_EQ(parse_component("none:x=1", "eviction", all).error().to_string(),
            "none: expected no parameter: none has none, found \"x\"");
}

TEST(Decimal, RoundsOnceHalvesUp) {
  EXPECT_EQ(decimal_times_power_of_two("1", 10), 1024);
  EXPECT_EQ(decimal_times_power_of_two("0.5", 0), 1);
  EXPECT_EQ(decimal_times_power_of_two("-0.5", 0), 0);
  EXPECT_EQ(decimal_times_power_of_two("-1.6", 0), -2);
  EXPECT_EQ(decimal_times_power_of_two("0.00048828125", 10), 1);  // 0.5 ticks exactly
  EXPECT_EQ(decimal_times_power_of_two("0.000488281249999999999999999", 10), 0);
  EXPECT_EQ(decimal_times_power_of_two("1.234", 10), 1264);  // 1263.616
  EXPECT_EQ(decimal_times_power_of_two("3e3", 10), 3072000);
  EXPECT_EQ(decimal_times_power_of_two("2.5E-3", 10), 3);  // 2.56
  EXPECT_EQ(decimal_times_power_of_two("1e19", 0), std::nullopt);
  EXPECT_EQ(decimal_times_power_of_two("8007199254740993", 10), 8007199254740993LL * 1024);
  EXPECT_EQ(decimal_times_power_of_two("nan", 10), std::nullopt);
  EXPECT_EQ(decimal_times_power_of_two("1x", 10), std::nullopt);
  EXPECT_EQ(decimal_times_power_of_two("", 10), std::nullopt);
}

}  // namespace
}  // namespace kvplan
