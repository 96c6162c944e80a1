// Most rows of a file of JSON lines differ only in their values. From one row, this class learns the text before each
// value and after the last. A row that has the same texts, byte for byte, has the same keys in the same places. So only
// its values are parsed, and its end is found at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "traces/import/digits.h"

namespace kvplan::traces {

/// Life cycle: `learn` a row, `read` others, `learn` another row when rows look different.
class LearnedRow {
 public:
  /// A value of a row: begin and end in the line, and a number by which the reader identifies it.
  struct Value {
    std::size_t begin;
    std::size_t end;
    int name;
  };
  /// Forgets everything learned before. Without values nothing is learned. The values are in order and do not overlap.
  void learn(std::string_view line, std::span<const Value> values);
  [[nodiscard]] bool empty() const { return texts_.empty(); }

  /// Reads a row that begins at `at`. `take(name, at, end)` returns the end of the value that begins at its `at`, or
  /// nullptr if it does not accept a value there. Returns the end of the row, including its line feed. Returns nullptr
  /// if the row has other texts, if a value was not accepted, or if the row does not end before `end`; values taken
  /// before then must be discarded. REQUIRES: not empty; kDigitsRoom bytes behind `end`; neither the learned texts nor
  /// accepted values contain a line feed.
  template <class Take>
  const char* read(const char* at, const char* end, Take&& take) const;

 private:
  /// Texts are compared as words of eight bytes; of the last word only a part may count.
  struct Text {
    std::uint64_t last_mask;
    std::int32_t bytes;
    std::int32_t name;  ///< name of the value behind it
  };
  void put(std::string_view text, int name);

  std::vector<Text> texts_;           ///< one text before each value, and the text behind the last value
  std::vector<std::uint64_t> words_;  ///< words of all texts, one text after the other
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
