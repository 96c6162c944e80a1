// Numbers as users write them: which ones are refused, and the error texts.
#include "simulator/base/number_input.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kvplan {
namespace {

TEST(NumberInput, LongTextsAreShortened) {
  EXPECT_EQ(found_text("abc"), "\"abc\"");
  EXPECT_EQ(found_text(std::string(40, '7')), "\"" + std::string(40, '7') + "\"");
  EXPECT_EQ(found_text(std::string(5000, '7')), "\"" + std::string(40, '7') + "...\" (5000 bytes)");
  EXPECT_EQ(found_text(std::string(39, 'x') + "\xC3\xA9 and more"),
            "\"" + std::string(39, 'x') + "...\" (50 bytes)");
  const auto number = read_whole_number(std::string(5000, '7'), {0, 9});
  ASSERT_FALSE(number.ok());
  EXPECT_EQ(number.error().to_string(),
            "expected a whole number from 0 to 9, found \"" + std::string(40, '7') + "...\" (5000 bytes)");
}

TEST(NumberInput, BothEndsAreIncluded) {
  EXPECT_EQ(read_whole_number("9", {0, 9}).value(), 9);
  EXPECT_EQ(read_whole_number("-9", {-9, 9}).value(), -9);
  EXPECT_EQ(read_whole_number("9223372036854775807", {}).value(), INT64_MAX);
  EXPECT_FALSE(read_whole_number("10", {0, 9}).ok());
  EXPECT_FALSE(read_whole_number("-10", {-9, 9}).ok());
  EXPECT_EQ(read_number("0.5", {0.5, 1}).value(), 0.5);
  EXPECT_EQ(read_number("1e0", {0.5, 1}).value(), 1);
  EXPECT_FALSE(read_number("0.49", {0.5, 1}).ok());
  EXPECT_FALSE(read_number("nan", {0.5, 1}).ok());
  EXPECT_FALSE(read_number("infinity", {0.5, INFINITY}).ok());
}

}  // namespace
}  // namespace kvplan
