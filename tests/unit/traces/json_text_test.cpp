// The end of text between quotes, compared with a search byte by byte; in memory of exactly its size, so that a memory
// checker notices a read beyond it.
#include "traces/import/json_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "simulator/base/random.h"
#include "traces/import/json_cursor.h"

namespace kvplan::traces {
namespace {

std::size_t plain_bytes(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size() && text[i] != '"' && text[i] != '\\' && static_cast<unsigned char>(text[i]) >= 0x20)
    ++i;
  return i;
}

/// Copies the text into separate memory, and returns what the function finds there.
std::size_t found_in(std::string_view text) {
  const std::unique_ptr<char[]> own(new char[text.size()]);
  text.copy(own.get(), text.size());
  return static_cast<std::size_t>(plain_text_end(own.get(), own.get() + text.size()) - own.get());
}

TEST(PlainText, OfEveryLengthEndedByEveryByteAtEveryPlace) {
  for (std::size_t size = 0; size <= 200; ++size) {
    std::string text(size, 'a');
    ASSERT_EQ(found_in(text), size);
    for (std::size_t place = 0; place < size; ++place) {
      for (const char c : {'"', '\\', '\n', '\0', '\x1F'}) {
        text[place] = c;
        ASSERT_EQ(found_in(text), place) << size;
      }
      for (const char c : {' ', '!', '#', '[', ']', '\x7F', '\x80', '\xA2', '\xDC', '\xFF'}) {
        text[place] = c;
        ASSERT_EQ(found_in(text), size) << place;
      }
    }
  }
}

TEST(PlainText, EveryByteBesideEveryByte) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      for (std::size_t place = 0; place < 7; ++place) {
        std::string text = "abcdefgh";
        text[place] = static_cast<char>(a);
        text[place + 1] = static_cast<char>(b);
        ASSERT_EQ(found_in(text), plain_bytes(text)) << a << " " << b;
      }
    }
  }
}

TEST(PlainText, RandomBytes) {
  Random random(1, "plain text");
  for (int i = 0; i < 100'000; ++i) {
    std::string text(random.below(70), '\0');
    const bool rare = random.chance(1, 2);
    for (char& c : text) c = static_cast<char>(rare && !random.chance(1, 50) ? 'x' : random.below(256));
    ASSERT_EQ(found_in(text), plain_bytes(text));
  }
}

/// A string alone: where it ends and whether it has escapes. nullopt if it does not end.
TEST(PlainText, StringsWithEscapesOfEveryLength) {
  for (std::size_t before = 0; before <= 40; ++before) {
    for (const char* escapes : {"", R"(\")", R"(\\)", R"(\\\")", R"(\n\u00e9)"}) {
      for (std::size_t after = 0; after <= 20; ++after) {
        const std::string inside = std::string(before, 'x') + escapes + std::string(after, 'y');
        const std::string text = '"' + inside + '"';
        JsonCursor whole(text);
        std::string_view found;
        bool escaped = false;
        ASSERT_TRUE(whole.string(found, escaped));
        ASSERT_EQ(found, inside);
        ASSERT_EQ(escaped, *escapes != 0);
        ASSERT_TRUE(whole.at_end());
        for (std::size_t size = 0; size < text.size(); ++size) {
          JsonCursor cut(std::string_view(text).substr(0, size));
          ASSERT_FALSE(cut.string(found, escaped)) << text.substr(0, size);
          ASSERT_EQ(cut.where(), size);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kvplan::traces
