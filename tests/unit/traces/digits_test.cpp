// The fast paths for numbers and times compared with the general paths of fields.h, which have their own tests: every
// value of a fast path equals that of the general one, and the fast path accepts all plain text.
#include "traces/import/digits.h"

#include <gtest/gtest.h>

#include <string>

#include "simulator/base/random.h"
#include "traces/import/fields.h"

namespace kvplan::traces {
namespace {

/// A text followed by bytes that must not count: the end of a line, or digits.
struct Padded {
  explicit Padded(std::string text, bool digits = false)
      : size(text.size()), bytes(std::move(text) + (digits ? "12345678" : "\n1234567")) {}
  [[nodiscard]] const char* begin() const { return bytes.data(); }
  [[nodiscard]] const char* end() const { return bytes.data() + size; }
  std::size_t size;
  std::string bytes;
};

TEST(Digits, EveryByteAtEveryPlace) {
  const std::string digits = "90817263";
  EXPECT_EQ(digits_at(digits.data()).count, 8);
  EXPECT_EQ(digits_at(digits.data()).value, 90817263U);
  for (std::size_t place = 0; place < 8; ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = digits;
      text[place] = static_cast<char>(byte);
      const bool digit = byte >= '0' && byte <= '9';
      const std::string front = digit ? text : text.substr(0, place);
      const Digits found = digits_at(text.data());
      EXPECT_EQ(found.count, static_cast<int>(front.size())) << place << " " << byte;
      EXPECT_EQ(found.value, front.empty() ? 0U : std::stoul(front)) << place << " " << byte;
    }
  }
}

TEST(Digits, EveryByteAtEveryPlaceOfAClock) {
  const std::string clock = "23:59:07";
  IsoTimeParser long_way;
  for (std::size_t place = 0; place < 8; ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = clock;
      text[place] = static_cast<char>(byte);
      const auto expected = long_way.parse("1970-01-01 " + text);
      EXPECT_EQ(seconds_of_day(text.data()), expected ? *expected / 1'000'000'000 : -1)
          << place << " " << byte;
    }
  }
}

/// Texts that are numbers or times, or nearly.
std::string number_like(Random& random) {
  std::string text;
  const char* const kAlphabet = random.chance(3, 4) ? "0123456789" : "0123456789.-+e:Z \"\x01\xB0";
  const std::size_t letters = std::string_view(kAlphabet).size();
  for (std::uint64_t left = random.below(13); left > 0; --left) text += kAlphabet[random.below(letters)];
  if (random.chance(1, 2)) text += '.' + std::to_string(random.below(100'000'000));
  return text;
}

TEST(Digits, CountsAreTakenAsTheLongWayTakesThem) {
  Random random(1, "counts");
  int taken = 0;
  for (int i = 0; i < 200'000; ++i) {
    const Padded text(number_like(random), random.chance(1, 8));
    std::int32_t value = -7;
    const char* const stop = plain_count(text.begin(), text.end(), value);
    if (stop == nullptr) {
      EXPECT_EQ(value, -7);
      continue;
    }
    ASSERT_GT(stop, text.begin());
    ASSERT_LE(stop, text.end());
    EXPECT_EQ(parse_count({text.begin(), stop}), value) << text.bytes;
    taken += stop == text.end() ? 1 : 0;
  }
  EXPECT_GT(taken, 10'000);
  for (int value : {0, 7, 10, 9'999'999}) {
    const Padded text(std::to_string(value));
    std::int32_t found = -1;
    EXPECT_EQ(plain_count(text.begin(), text.end(), found), text.end());
    EXPECT_EQ(found, value);
  }
}

TEST(Digits, DecimalsAreTakenAsTheLongWayTakesThem) {
  Random random(2, "decimals");
  int taken = 0;
  for (int i = 0; i < 200'000; ++i) {
    const Padded text(number_like(random), random.chance(1, 8));
    for (const TimeUnit unit : {TimeUnit::kSeconds, TimeUnit::kMillis, TimeUnit::kMicros, TimeUnit::kNanos}) {
      std::int64_t value = -7;
      const char* const stop = plain_decimal(text.begin(), text.end(), exponent_of(unit), value);
      if (stop == nullptr) {
        EXPECT_EQ(value, -7);
        continue;
      }
      ASSERT_LE(stop, text.end());
      EXPECT_EQ(parse_time_number({text.begin(), stop}, unit), value) << text.bytes;
      taken += stop == text.end() ? 1 : 0;
    }
  }
  EXPECT_GT(taken, 10'000);
}

TEST(Digits, DecimalsThatArePlain) {
  const auto seconds = [](const std::string& bare, int exponent) {
    const Padded text(bare);
    std::int64_t value = -1;
    return plain_decimal(text.begin(), text.end(), exponent, value) == text.end() ? value : -1;
  };
  EXPECT_EQ(seconds("0", 9), 0);
  EXPECT_EQ(seconds("3.5", 9), 3'500'000'000);
  EXPECT_EQ(seconds("1799.999462", 9), 1'799'999'462'000);
  EXPECT_EQ(seconds("1700158546680", 6), 1'700'158'546'680'000'000);
  EXPECT_EQ(seconds("9223372036.8547758", 9), 9'223'372'036'854'775'800);
  // Needs the slow path, which takes the first two and rounds the third.
  EXPECT_EQ(seconds("1.12345678", 9), -1);
  EXPECT_EQ(seconds("1234567890123456", 0), -1);
  EXPECT_EQ(seconds("1.5", 0), -1);
  EXPECT_EQ(seconds("9223372036.8547759", 9), -1);
  EXPECT_EQ(seconds("999999999999999", 9), -1);
  EXPECT_EQ(seconds(".5", 9), -1);
  EXPECT_EQ(seconds("5.", 9), -1);
}

/// A list of ids, read digit by digit; nullopt if it is not a list or not plain.
std::optional<std::vector<std::uint64_t>> naive_ids(std::string_view text) {
  std::vector<std::uint64_t> ids;
  if (text.empty() || text.front() != '[') return std::nullopt;
  if (text.substr(1, 1) == "]") return ids;
  for (std::size_t at = 1;;) {
    const std::size_t start = at;
    std::uint64_t id = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      id = id * 10 + static_cast<std::uint64_t>(text[at] - '0');
    if (at == start || at - start > 19 || at == text.size()) return std::nullopt;
    ids.push_back(id);
    if (text[at] == ']') return ids;
    if (text[at++] != ',') return std::nullopt;
    if (at < text.size() && text[at] == ' ') ++at;
  }
}

TEST(Digits, ListsOfIdsAsReadDigitByDigit) {
  Random random(4, "ids");
  int taken = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string list = "[";
    for (std::uint64_t left = random.below(6); left > 0; --left) {
      for (std::uint64_t digits = 1 + random.below(random.chance(1, 9) ? 26 : 18); digits > 0; --digits)
        list += static_cast<char>('0' + random.below(10));
      list += left == 1 ? "" : random.chance(1, 2) ? ", " : ",";
    }
    list += ']';
    if (random.chance(1, 3)) list[random.below(list.size())] = " ,[]-.x\n"[random.below(8)];
    if (random.chance(1, 4)) list.resize(random.below(list.size()));
    const Padded text(list, random.chance(1, 2));
    std::vector<std::uint64_t> ids;
    const char* const stop =
        plain_ids(text.begin(), text.end(), [&](std::uint64_t id) { ids.push_back(id); });
    const std::optional<std::vector<std::uint64_t>> expected = naive_ids(list);
    ASSERT_EQ(stop != nullptr, expected.has_value()) << list;
    if (stop == nullptr) continue;
    ASSERT_EQ(ids, *expected) << list;
    ASSERT_EQ(stop[-1], ']');
    ASSERT_LE(stop, text.end());
    ++taken;
  }
  EXPECT_GT(taken, 50'000);
}

TEST(Digits, TimesAreTakenAsTheLongWayTakesThem) {
  Random random(3, "iso");
  IsoTimeParser kept;
  int taken = 0;
  for (int i = 0; i < 200'000; ++i) {
    char plain[64];
    const char* const zones[]{"", "Z", "+00:00", "+01:00", "z", " UTC"};
    std::snprintf(plain, sizeof plain, "2023-11-%02d%c%02d:%02d:%02d.%0*d%s",
                  static_cast<int>(random.between(1, 3)), random.chance(1, 2) ? ' ' : 'T',
                  static_cast<int>(random.between(0, 24)), static_cast<int>(random.between(0, 60)),
                  static_cast<int>(random.between(0, 60)), static_cast<int>(random.between(1, 9)),
                  static_cast<int>(random.below(1'000'000)), zones[random.below(6)]);
    std::string bare = plain;
    if (random.chance(1, 8)) bare[random.below(bare.size())] = "0.:Z+x\x80"[random.below(7)];
    if (random.chance(1, 16)) bare.resize(random.below(bare.size()));
    const Padded text(bare, random.chance(1, 8));
    std::int64_t value = -7;
    const char* const stop = kept.plain(text.begin(), text.end(), value);
    const std::optional<std::int64_t> expected = IsoTimeParser().parse(bare);
    kept.parse(bare);  // keeps its date
    if (stop != text.end()) continue;
    EXPECT_EQ(expected, value) << bare;
    ++taken;
  }
  EXPECT_GT(taken, 10'000);
}

}  // namespace
}  // namespace kvplan::traces
