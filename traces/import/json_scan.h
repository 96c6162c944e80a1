// Finds where a JSON value ends while its text comes in pieces of any size: how values are passed over, or cut
// out, that are longer than what is held.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "traces/import/json_cursor.h"

namespace kvplan::traces {

/// One value. Checks what `JsonCursor::skip_value` checks: brackets, quotes, commas. Also passes over NaN,
/// Infinity and -Infinity, which Python's json module writes although JSON has no such words.
///
/// Life cycle: `feed` until `done` or `failed`, or `finish` where the text ends before that.
class JsonScan {
 public:
  /// Goes on with the next bytes of the text and gives how many of them are the value's, white space before it
  /// included. Fewer than all: the value has ended there (`done`), or what stands there breaks it (`failed`).
  std::size_t feed(std::string_view text);
  /// The text has ended: true where that makes the value whole (a number has no other end).
  bool finish();

  [[nodiscard]] bool done() const { return at_ == At::kDone; }
  [[nodiscard]] bool failed() const { return at_ == At::kWrong; }

 private:
  enum class At : std::uint8_t { kBetween, kText, kEscape, kWord, kDone, kWrong };
  /// What one byte outside texts and words means; false where it breaks the value.
  bool between(char c);
  /// A byte of a number or another word; false where no such word begins like this.
  bool add_to_word(char c);
  [[nodiscard]] bool word_is_value() const;
  void end_value();

  At at_{At::kBetween};
  bool after_value_{false};  ///< a comma or a closing bracket is due
  bool numeric_{false};      ///< all bytes of the word can be a number's
  int depth_{0};
  std::size_t word_bytes_{0};
  std::array<char, 9> word_{};  ///< its first bytes; the longest that is no number is -Infinity
  std::array<char, JsonCursor::kMaxDepth> open_{};
};

}  // namespace kvplan::traces
