// Walks JSON documents of any size through an `Input`, key by key and element by element: what is entered is
// never held, what is skipped is only passed over, and one value at a time is cut out as text for a
// `JsonCursor`. Several documents may follow each other, on a line each or not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/io/input.h"

namespace kvplan::traces {

/// Functions that return bool give false at the end and on an error alike; `failed` tells, and `error` says
/// what was expected and found at which byte of the file (decompressed). After an error nothing is read.
///
///     JsonElements json(input);
///     std::string key;
///     json.enter('{');
///     while (json.next_key(key)) {
///       if (key != "spans") { json.skip(); continue; }
///       json.enter('[');
///       while (json.next_element() && json.value(text)) ...
///     }
class JsonElements {
 public:
  /// A longer key, or value that is asked for as text, is an error: 64 MiB.
  static constexpr std::size_t kMostBytes = Input::kMaxLine;

  /// `input` outlives this, and nobody else reads it meanwhile. A byte-order mark is passed over.
  explicit JsonElements(Input& input);

  /// True when only white space is left, and after an error.
  bool at_end();
  /// Fails where anything but white space is left.
  bool expect_end();
  /// What kind of value comes next, as JsonCursor::kind.
  char kind();
  /// Goes into the array ('[') or object ('{') that comes next.
  bool enter(char bracket);
  /// True when another element of the array entered comes: then read, skip or enter it. At the array's end it
  /// is left again.
  bool next_element();
  /// The same for the object entered; the key without escapes.
  bool next_key(std::string& key);
  /// The text of the value that comes next, whole; valid until the next call.
  bool value(std::string_view& text);
  /// Passes over the value that comes next, of any size.
  bool skip();

  /// Where the latest value entered, cut out or skipped began, in bytes from the start of the file.
  [[nodiscard]] std::int64_t begin() const { return begin_; }
  [[nodiscard]] bool failed() const { return failed_; }
  /// REQUIRES: failed().
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  /// The next byte that is not white space, not consumed; 0 at the end.
  char next_byte();
  /// Goes past `c`, or fails.
  bool expect(char c, std::string_view expected);
  /// Common to next_element and next_key: past the comma before the next one, or out of what was entered.
  bool next_in(char closing);
  bool fail(Error error);
  /// Fails at the byte that comes next.
  bool fail_expected(std::string_view expected);

  Input& input_;
  std::vector<bool> first_;  ///< of each thing entered: nothing of it was read yet
  std::int64_t begin_{0};
  bool failed_{false};
  Error error_{};
};

}  // namespace kvplan::traces
