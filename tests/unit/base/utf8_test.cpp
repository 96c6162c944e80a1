// Text of files that is printed on a terminal.
#include "simulator/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace kvplan {
namespace {

TEST(Printable, WhatATerminalWouldObeyIsShown) {
  EXPECT_EQ(printable("plain \"text\", 日本 é"), "plain \"text\", 日本 é");
  EXPECT_EQ(printable("\x1B[31mred\x7F\n"), "\\x1B[31mred\\x7F\\x0A");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m \xC2\xA0"),
            "\\xC2\\x9B31m \xC2\xA0");
}

TEST(Printable, BytesThatAreNoCharacters) {
  EXPECT_EQ(printable("\xFF|\xC3"), "\\xFF|\\xC3");
  EXPECT_EQ(printable("\xE2\x82|\xE2\x82\xAC"), "\\xE2\\x82|\xE2\x82\xAC");
  EXPECT_EQ(printable("\xC0\xAF\xED\xA0\x80"), "\\xC0\\xAF\\xED\\xA0\\x80");  // overlong, surrogate
}

}  // namespace
}  // namespace kvplan
