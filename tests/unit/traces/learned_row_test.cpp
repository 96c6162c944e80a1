// Rows that look like a learned row, compared with a comparison byte by byte.
#include "traces/import/learned_row.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "simulator/base/random.h"

namespace kvplan::traces {
namespace {

/// The learner's line as texts with one-byte values 'V' between them.
struct Shape {
  explicit Shape(std::vector<std::string> all) : texts(std::move(all)) {
    std::vector<LearnedRow::Value> values;
    for (std::size_t i = 0; i + 1 < texts.size(); ++i) {
      line += texts[i];
      values.push_back({line.size(), line.size() + 1, static_cast<int>(i)});
      line += 'V';
    }
    line += texts.back();
    learned.learn(line, values);
  }
  std::vector<std::string> texts;
  std::string line;
  LearnedRow learned;
};

/// Takes digits; has the values that it took, with their names.
struct Taken {
  std::string values;
  const char* operator()(int name, const char* at, const char* end) {
    const char* const start = at;
    while (at != end && *at >= '0' && *at <= '9') ++at;
    values += std::to_string(name) + "=" + std::string(start, at) + " ";
    return at == start ? nullptr : at;
  }
};

/// How many bytes of a text are read if bytes follow; 0: not like the learned row.
std::size_t read(const LearnedRow& learned, std::string_view text, std::string& values,
                 const std::string& behind = "5,6\n7890123") {
  const std::string held = std::string(text) + behind;
  Taken taken;
  const char* const stop =
      learned.read(held.data(), held.data() + text.size(),
                   [&](int name, const char* at, const char* end) { return taken(name, at, end); });
  values = taken.values;
  return stop == nullptr ? 0 : static_cast<std::size_t>(stop - held.data());
}

TEST(LearnedRow, ReadsARowAndWhereItEnds) {
  const Shape shape({R"({"a": )", R"(, "b":)", R"(,"long name of a key": )", "}"});
  std::string values;
  const std::string row = R"({"a": 17, "b":4,"long name of a key": 123456789})";
  EXPECT_EQ(read(shape.learned, row + "\n", values), row.size() + 1);
  EXPECT_EQ(values, "0=17 1=4 2=123456789 ");
  EXPECT_EQ(read(shape.learned, row + "\r\n", values), row.size() + 2);
  EXPECT_EQ(read(shape.learned, row + "\n" + row + "\n", values), row.size() + 1);
  for (const char* end : {"", " \n", "\r", "\r\r\n", "}\n"})
    EXPECT_EQ(read(shape.learned, row + end, values), 0U);
}

TEST(LearnedRow, NothingIsLearnedWithoutValues) {
  LearnedRow learned;
  EXPECT_TRUE(learned.empty());
  learned.learn("{}", {});
  EXPECT_TRUE(learned.empty());
  const LearnedRow::Value value{1, 2, 0};
  learned.learn("[5]", {&value, 1});
  EXPECT_FALSE(learned.empty());
  std::string values;
  EXPECT_EQ(read(learned, "[17]\n", values), 5U);
  learned.learn("{5}", {&value, 1});
  EXPECT_EQ(read(learned, "[17]\n", values), 0U);
  EXPECT_EQ(read(learned, "{17}\n", values), 5U);
}

TEST(LearnedRow, EveryTextLengthWithEveryByteChangedAndCutAnywhere) {
  for (std::size_t size = 1; size <= 200; ++size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('a' + i % 26);
    const Shape shape({text, text + "-", "}"});
    const std::string row = text + "12" + text + "-3}\n";
    std::string values;
    ASSERT_EQ(read(shape.learned, row, values), row.size());
    ASSERT_EQ(values, "0=12 1=3 ");
    for (std::size_t place = 0; place < row.size(); ++place) {
      ASSERT_EQ(read(shape.learned, row.substr(0, place), values, row.substr(place) + "12345678"), 0U)
          << "what is behind the end must not count, " << place;
      if (row[place] >= '0' && row[place] <= '9') continue;
      std::string wrong = row;
      wrong[place] = static_cast<char>(wrong[place] ^ (1 << place % 8));
      ASSERT_EQ(read(shape.learned, wrong, values), 0U) << wrong;
    }
  }
}

/// The same comparison, byte by byte.
std::optional<std::string> naive(const Shape& shape, std::string_view row, std::size_t& bytes) {
  std::size_t at = 0;
  std::string values;
  for (std::size_t i = 0; i < shape.texts.size(); ++i) {
    for (const char c : shape.texts[i])
      if (at == row.size() || row[at++] != c) return std::nullopt;
    if (i + 1 == shape.texts.size()) break;
    const std::size_t start = at;
    while (at < row.size() && row[at] >= '0' && row[at] <= '9') ++at;
    if (at == start) return std::nullopt;
    values += std::to_string(i) + "=" + std::string(row.substr(start, at - start)) + " ";
  }
  if (at < row.size() && row[at] == '\r') ++at;
  if (at == row.size() || row[at++] != '\n') return std::nullopt;
  bytes = at;
  return values;
}

TEST(LearnedRow, RandomRowsAsReadByteByByte) {
  Random random(7, "learned rows");
  int good = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::vector<std::string> texts(2 + random.below(5));
    for (std::string& text : texts)
      for (std::uint64_t left = 1 + random.below(20); left > 0; --left)
        text += ", \"x:{\xC3"[random.below(7)];
    const Shape shape(texts);
    std::string row;
    for (std::size_t k = 0; k < texts.size(); ++k)
      row += texts[k] + (k + 1 == texts.size() ? "" : std::to_string(random.below(1'000'000)));
    row += random.chance(1, 4) ? "\r\n" : "\n";
    if (random.chance(1, 2)) row += row;
    if (random.chance(1, 4)) row[random.below(row.size())] = ", \"x:\n5\r"[random.below(8)];
    if (random.chance(1, 4)) row.resize(random.below(row.size()));
    std::string values;
    std::size_t bytes = 0;
    const std::optional<std::string> expected = naive(shape, row, bytes);
    ASSERT_EQ(read(shape.learned, row, values), bytes) << row;
    if (!expected) continue;
    ASSERT_EQ(values, *expected);
    ++good;
  }
  EXPECT_GT(good, 30'000);
  EXPECT_LT(good, 90'000);
}

}  // namespace
}  // namespace kvplan::traces
