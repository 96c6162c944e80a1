#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace kvplan {
namespace {

constexpr std::array<std::uint64_t, 12> kExtremes{0,
                                                  1,
                                                  0x7F,
                                                  0xFF,
                                                  0x7FFF,
                                                  0xFFFF,
                                                  0x7FFF'FFFF,
                                                  0xFFFF'FFFF,
                                                  0x1'0000'0000,
                                                  0x7FFF'FFFF'FFFF'FFFF,
                                                  0x8000'0000'0000'0000,
                                                  0xFFFF'FFFF'FFFF'FFFF};
constexpr std::array<std::string_view, 14> kWords{"-1",
                                                  "0",
                                                  "1e999",
                                                  "NaN",
                                                  "-0.0",
                                                  "9223372036854775807",
                                                  "9223372036854775808",
                                                  "18446744073709551616",
                                                  "null",
                                                  "\"\"",
                                                  "[",
                                                  "{",
                                                  "\n",
                                                  "\xFF\xFE"};

std::size_t place(const std::string& text, Random& random) {
  return random.below(text.size() + 1);
}

/// Length of a range that begins at `begin`: mostly short, sometimes up to the end.
std::size_t length(const std::string& text, std::size_t begin, Random& random) {
  const std::size_t rest = text.size() - begin;
  const std::size_t most = random.chance(1, 4) ? rest : std::min<std::size_t>(rest, 8);
  return random.below(most + 1);
}

std::string little_endian(std::uint64_t value, std::size_t width) {
  std::string bytes;
  for (std::size_t i = 0; i < width; ++i) bytes.push_back(static_cast<char>((value >> (8 * i)) & 0xFF));
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>((value & 0x7F) | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

/// Replaces the decimal number at or after a random position, so that the text keeps its form.
void replace_number(std::string& text, Random& random) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto from = text.begin() + static_cast<std::ptrdiff_t>(place(text, random));
  const auto begin = std::find_if(from, text.end(), digit);
  const auto end = std::find_if_not(begin, text.end(), digit);
  text.replace(begin, end, kWords[random.below(kWords.size())]);
}

void overwrite(std::string& text, std::string_view with, Random& random) {
  const std::size_t at = place(text, random);
  text.replace(at, std::min(with.size(), text.size() - at), with);
}

void change_once(std::string& text, const std::string& other, Random& random) {
  const std::size_t at = place(text, random);
  switch (random.below(11)) {
    case 0:
      text.resize(at);
      break;
    case 1:
      text.erase(at, length(text, at, random));
      break;
    case 2:
      text.insert(at, text.substr(at, length(text, at, random)));
      break;
    case 3:
      text.insert(at, kWords[random.below(kWords.size())]);
      break;
    case 4:
      replace_number(text, random);
      break;
    case 5:
      overwrite(text, little_endian(kExtremes[random.below(kExtremes.size())], 1U << random.below(4)),
                random);
      break;
    case 6:
      overwrite(text, varint(kExtremes[random.below(kExtremes.size())]), random);
      break;
    case 7: {
      const std::size_t from = place(other, random);
      text.replace(at, length(text, at, random), other.substr(from, length(other, from, random)));
      break;
    }
    case 8:
      if (at < text.size()) text[at] = static_cast<char>(random.below(256));
      break;
    default:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
  }
}

}  // namespace

std::string mutate(std::string input, const std::string& other, Random& random) {
  const std::size_t most = 4 * input.size() + 4096;
  for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
    change_once(input, other, random);
    input.resize(std::min(input.size(), most));
  }
  return input;
}

}  // namespace kvplan
