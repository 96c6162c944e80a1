// Walking JSON documents of any size: where values end, what is entered, skipped and cut out, and errors for text that
// is not JSON.
#include "traces/import/json_elements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/traces/support.h"
#include "traces/import/json_cursor.h"
#include "traces/import/json_scan.h"

namespace kvplan::traces {
namespace {

/// Bytes in memory that are delivered a few at a time.
class Drips final : public ByteSource {
 public:
  Drips(std::string_view text, std::size_t most) : text_(text), most_(most) {}
  Result<std::size_t> read(char* to, std::size_t room) override {
    const std::size_t count = std::min({room, most_, text_.size()});
    text_.copy(to, count);
    text_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view text_;
  std::size_t most_;
};

/// `blocks` times the same bytes, without storing them.
class Repeated final : public ByteSource {
 public:
  Repeated(std::string head, std::string block, std::int64_t blocks, std::string tail)
      : now_(std::move(head)), block_(std::move(block)), tail_(std::move(tail)), blocks_(blocks) {}
  Result<std::size_t> read(char* to, std::size_t room) override {
    if (now_.empty()) now_ = blocks_-- > 0 ? block_ : std::exchange(tail_, {});
    const std::size_t count = std::min(room, now_.size());
    now_.copy(to, count);
    now_.erase(0, count);
    return count;
  }

 private:
  std::string now_;
  std::string block_;
  std::string tail_;
  std::int64_t blocks_;
};

std::string random_json(std::mt19937& random, int depth) {
  static const std::vector<std::string> kLeaves{
      "1",    "-2.5e+3",     "0",  "\"\"", "\"a\\\"b\\\\\"",      "\"]}{[,:\"", "true", "false",
      "null", "\"\\u00e9\"", "[]", "{}",   "12345678901234567890"};
  const std::string space = random() % 4 == 0 ? " \n\t" : "";
  const auto kind = random() % 4;
  if (depth == 0 || kind < 2) return space + kLeaves[random() % kLeaves.size()] + space;
  std::string out = space + (kind == 2 ? "[" : "{");
  const auto count = random() % 4;
  for (std::size_t i = 0; i < count; ++i) {
    out += i == 0 ? "" : ",";
    if (kind == 3)
      out.append(space).append("\"k\\n").append(std::to_string(i)).append("\"").append(space).append(":");
    out += random_json(random, depth - 1);
  }
  return out + space + (kind == 2 ? "]" : "}") + space;
}

struct Ended {
  bool whole;
  std::size_t bytes;
  bool operator==(const Ended&) const = default;
};

Ended by_scan(std::string_view text, std::size_t piece) {
  JsonScan scan;
  std::size_t used = 0;
  while (used < text.size() && !scan.done() && !scan.failed()) used += scan.feed(text.substr(used, piece));
  return {scan.done() || (!scan.failed() && scan.finish()), used};
}

Ended by_cursor(std::string_view text) {
  JsonCursor cursor(text);
  const bool whole = cursor.skip_value();
  return {whole, cursor.where()};
}

TEST(JsonScan, EndsWhereTheCursorEndsInPiecesOfAnySize) {
  std::mt19937 random(7);
  int broken = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = random_json(random, 4);
    if (round % 2 == 1) {  // one byte is changed, or is missing
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = "{}[],:\"\\1a \n"[random() % 12];
      } else {
        text.erase(at, 1);
      }
    }
    const Ended cursor = by_cursor(text);
    if (!cursor.whole) ++broken;
    for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, text.size() + 1}) {
      const Ended scan = by_scan(text, piece);
      EXPECT_EQ(scan.whole, cursor.whole) << text << " in pieces of " << piece;
      EXPECT_EQ(cursor.whole ? scan.bytes : 0, cursor.whole ? cursor.bytes : 0) << text;
    }
  }
  EXPECT_GT(broken, 500);
}

TEST(JsonScan, WordsThatPythonWrites) {
  for (const std::string word : {"NaN", "Infinity", "-Infinity"}) {
    EXPECT_EQ(by_scan("[" + word + ", 1]", 1), (Ended{true, word.size() + 5})) << word;
    EXPECT_EQ(by_scan(word, 2), (Ended{true, word.size()})) << word;
  }
  for (const char* word : {"nan", "Inf", "-Infinit", "Infinityy", "-Infinity1", "tru", "True", "x"})
    EXPECT_FALSE(by_scan(word, 3).whole) << word;
}

TEST(JsonScan, DepthIsLimited) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(by_scan(nested(256), 10), (Ended{true, 512}));
  EXPECT_EQ(by_scan(nested(257), 10), (Ended{false, 256}));
}

/// Walks a document: values are entered if `enter` says so, otherwise cut out and skipped in turn.
std::string walk(JsonElements& json, int depth = 0) {
  std::string out;
  const char kind = json.kind();
  if (depth < 3 && (kind == 'a' || kind == 'o')) {
    std::string key;
    json.enter(kind == 'a' ? '[' : '{');
    out = kind == 'a' ? "[" : "{";
    while (kind == 'a' ? json.next_element() : json.next_key(key)) {
      if (kind == 'o') out += key + "=";
      out += walk(json, depth + 1) + ";";
    }
    return out + (kind == 'a' ? "]" : "}");
  }
  std::string_view text;
  if (kind == 'l') return json.skip() ? "-" : "";
  return json.value(text) ? std::string(text) : "";
}

std::string walked(std::string_view text, std::size_t piece = std::size_t{1} << 20) {
  Input input(std::make_unique<Drips>(text, piece), "t");
  JsonElements json(input);
  std::string out;
  while (!json.at_end() && !json.failed()) out += walk(json) + "|";
  return json.failed() ? json.error().to_string() : out;
}

TEST(JsonElements, WalksDocumentsThatFollowEachOther) {
  const std::string text =
      "\xEF\xBB\xBF {\"a\\u0062\": [1, 2 , {\"x\":[[ 3 ]]}],\n\"c\": null, \"d\": {}, \"\": "
      "\"t\\\"\"}\n[]\n7 \"s\" ";
  const std::string expected = "{ab=[1;2;{x=[[ 3 ]];};];c=-;d={};=\"t\\\"\";}|[]|7|\"s\"|";
  for (const std::size_t piece : std::initializer_list<std::size_t>{1, 2, 3, 1000})
    EXPECT_EQ(walked(text, piece), expected) << piece;
  EXPECT_EQ(walked(" \n"), "");
}

TEST(JsonElements, ErrorsSayTheByteAndWhatWasExpected) {
  EXPECT_EQ(walked("{\"a\": 1 \"b\": 2}"),
            "t: byte 8: expected a comma or the end of the object, found \"\"b\": 2}\"");
  EXPECT_EQ(walked("[1 2]"), "t: byte 3: expected a comma or the end of the array, found \"2]\"");
  EXPECT_EQ(walked("[1,]"), "t: byte 3: expected JSON, found \"]\"");
  EXPECT_EQ(walked("[1,"), "t: byte 3: expected a JSON value, found the end of the file");
  EXPECT_EQ(walked("{\"a\""), "t: byte 4: expected a colon after the key, found the end of the file");
  EXPECT_EQ(walked("{a: 1}"), "t: byte 1: expected a key in quotes, found \"a: 1}\"");
  EXPECT_EQ(walked("{\"a\\x\": 1}"), "t: byte 1: expected a key with JSON escapes, found \"\"a\\x\"\"");
  EXPECT_EQ(walked("{\"a\": \"un"), "t: byte 6: the file ends inside the value that begins here");
  EXPECT_EQ(walked("[[[{\"a\": 1 2}]]]"), "t: byte 11: expected JSON, found \"2}]]]\"");
  EXPECT_EQ(walked("[tru]"), "t: byte 4: expected JSON, found \"]\"");
  EXPECT_EQ(walked("words"), "t: byte 0: expected JSON, found \"words\"");
  EXPECT_EQ(walked(std::string_view("[1\0]", 4)),
            "t: byte 2: expected a comma or the end of the array, found \"\\x00]\"");
  EXPECT_EQ(walked("]"), "t: byte 0: expected JSON, found \"]\"");
}

TEST(JsonElements, ErrorsOfTheFileComeThrough) {
  const std::string damaged = "\x1f\x8b not really gzip";
  Result<std::unique_ptr<ByteSource>> source = open_memory(damaged, "t");
  ASSERT_TRUE(source.ok());
  Input input(std::move(source).value(), "t");
  JsonElements json(input);
  EXPECT_FALSE(json.enter('{'));
  ASSERT_TRUE(json.failed());
  EXPECT_EQ(json.error().to_string(), input.error().to_string());
  std::string key;
  EXPECT_FALSE(json.next_key(key));
  EXPECT_FALSE(json.next_element());
  EXPECT_FALSE(json.skip());
  EXPECT_TRUE(json.at_end());
}

TEST(JsonElements, ValuesOfAnySizeAreSkippedAndBeyondTheLimitNotCutOut) {
  const std::string block(std::size_t{1} << 16, 'x');
  const auto bytes = [&](std::int64_t blocks) {
    return std::make_unique<Repeated>("{\"huge\": [\"", block, blocks, "\"], \"b\": 5}");
  };
  std::string key;
  std::string_view text;
  {
    Input input(bytes(1 << 13), "t");  // 512 MiB
    JsonElements json(input);
    ASSERT_TRUE(json.enter('{') && json.next_key(key) && json.skip() && json.next_key(key) &&
                json.value(text));
    EXPECT_EQ(key, "b");
    EXPECT_EQ(text, "5");
    EXPECT_EQ(json.begin(), std::int64_t{(1 << 29) + 20});
    EXPECT_FALSE(json.next_key(key));
    EXPECT_TRUE(json.expect_end());
  }
  {
    Input input(bytes((1 << 10) - 1), "t");
    JsonElements json(input);
    ASSERT_TRUE(json.enter('{') && json.next_key(key) && json.value(text));
    EXPECT_EQ(text.size(), block.size() * 1023 + 4);
  }
  Input input(bytes(1 << 10), "t");
  JsonElements json(input);
  ASSERT_TRUE(json.enter('{') && json.next_key(key));
  EXPECT_FALSE(json.value(text));
  EXPECT_EQ(json.error().to_string(), "t: byte 9: a value of more than 67108864 bytes");
}

TEST(JsonCursor, ArraysElementByElement) {
  JsonCursor json(" [1, \"a\" ,[2,3] ]7");
  ASSERT_TRUE(json.enter_array());
  bool first = true;
  std::string kinds;
  while (json.next_element(first)) {
    kinds += json.kind();
    ASSERT_TRUE(json.skip_value());
  }
  EXPECT_EQ(kinds, "nsa");
  EXPECT_FALSE(json.failed());
  EXPECT_EQ(json.where(), 17U);
  JsonCursor broken("[1 2]");
  first = true;
  ASSERT_TRUE(broken.enter_array() && broken.next_element(first) && broken.skip_value());
  EXPECT_FALSE(broken.next_element(first));
  EXPECT_TRUE(broken.failed());
}

}  // namespace
}  // namespace kvplan::traces
