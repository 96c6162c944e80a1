// Rows of one file of JSON lines mostly differ in their values only. Learned from one row: the text before each value
// and behind the last. A row that has all of it, byte for byte, has the same keys in the same places: nothing but its
// values need be looked at, and where it ends is found on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "traces/import/digits.h"

namespace kvplan::traces {

/// Life cycle: `learn` a row, `read` others, `learn` another when they look different.
class LearnedRow {
 public:
  /// A value of a row: where it begins and ends in the line, and a number by which the reader knows it.
  struct Value {
    std::size_t begin;
    std::size_t end;
    int name;
  };
  /// Forgets what was learned before. Without values nothing is learned. The values are in order, and apart.
  void learn(std::string_view line, std::span<const Value> values);
  [[nodiscard]] bool empty() const { return texts_.empty(); }

  /// Reads a row that begins at `at`. `take(name, at, end)` gives where the value ends that begins at its `at`, or
  /// nullptr where it takes none there. Gives where the row ends, its line feed included; nullptr where it has other
  /// texts, or a value was not taken, or it does not end before `end`: what was taken then counts for nothing.
  /// REQUIRES: not empty; kDigitsRoom bytes behind `end`; what is learned has no line feed, and no value that is taken
  /// has.
  template <class Take>
  const char* read(const char* at, const char* end, Take&& take) const;

 private:
  /// Compared as words of eight bytes, of which the last may count in part.
  struct Text {
    std::uint64_t last_mask;
    std::int32_t bytes;
    std::int32_t name;  ///< of the value behind it
  };
  void put(std::string_view text, int name);

  std::vector<Text> texts_;           ///< one for each value, and what is behind the last of them
  std::vector<std::uint64_t> words_;  ///< of all texts, one after the other
};

template <class Take>
const char* LearnedRow::read(const char* at, const char* end, Take&& take) const {
  const std::uint64_t* word = words_.data();
  const Text* text = texts_.data();
  for (const Text* const last = text + texts_.size() - 1;; ++text) {
    if (end - at < text->bytes) return nullptr;
    const char* const stop = at + text->bytes;
    std::uint64_t wrong = 0;
    for (; stop - at > 8; at += 8) wrong |= eight_bytes(at) ^ *word++;
    wrong |= (eight_bytes(at) ^ *word++) & text->last_mask;
    if (wrong != 0) return nullptr;
    at = stop;
    if (text == last) break;
    if ((at = take(text->name, at, end)) == nullptr || at > end) return nullptr;
  }
  if (at != end && *at == '\r') ++at;
  return at != end && *at == '\n' ? at + 1 : nullptr;
}

}  // namespace kvplan::traces
