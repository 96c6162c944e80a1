// Finds the end of a JSON value when its text comes in pieces of any size: to skip or extract values that are longer
// than the buffer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "traces/import/json_cursor.h"

namespace kvplan::traces {

/// Scans one value. Checks brackets, quotes and commas, as `JsonCursor::skip_value`. Also accepts NaN, Infinity and
/// -Infinity, which Python's json module writes although JSON does not have them.
///
/// Life cycle: `feed` until `done` or `failed`, or `finish` if the text ends before that.
class JsonScan {
 public:
  /// Continues with the next bytes and returns how many belong to the value, including white space before it. If that
  /// is fewer than all bytes, the value has ended there (`done`), or is invalid there (`failed`).
  std::size_t feed(std::string_view text);
  /// The text has ended: true if that completes the value (as for a number).
  bool finish();

  [[nodiscard]] bool done() const { return at_ == At::kDone; }
  [[nodiscard]] bool failed() const { return at_ == At::kWrong; }

 private:
  enum class At : std::uint8_t { kBetween, kText, kEscape, kWord, kDone, kWrong };
  /// Handles one byte outside texts and words; false if it makes the value invalid.
  bool between(char c);
  /// Handles a byte of a number or another word; false if no such word begins like this.
  bool add_to_word(char c);
  [[nodiscard]] bool word_is_value() const;
  void end_value();

  At at_{At::kBetween};
  bool after_value_{false};  ///< a comma or a closing bracket must come next
  bool numeric_{false};      ///< all bytes of the word can be a number's
  int depth_{0};
  std::size_t word_bytes_{0};
  std::array<char, 9> word_{};  ///< its first bytes; the longest that is no number is -Infinity
  std::array<char, JsonCursor::kMaxDepth> open_{};
};

}  // namespace kvplan::traces
