// Walks JSON documents of any size through an `Input`, key by key and element by element. Entered objects and arrays
// are never stored, and skipped values are not stored either; one value at a time is extracted as text for a
// `JsonCursor`. Several documents may follow each other, on separate lines or not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/io/input.h"

namespace kvplan::traces {

/// Functions that return bool return false both at the end and on an error; `failed` distinguishes them, and `error`
/// says what was expected and what was found at which byte of the (decompressed) file. After an error nothing is read.
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
  /// A key, or a value requested as text, longer than this (64 MiB) is an error.
  static constexpr std::size_t kMostBytes = Input::kMaxLine;

  /// `input` outlives this object, and must not be read by others meanwhile. A byte-order mark is skipped.
  explicit JsonElements(Input& input);

  /// True if only white space is left, and after an error.
  bool at_end();
  /// Fails if anything but white space is left.
  bool expect_end();
  /// The kind of the next value, as in JsonCursor::kind.
  char kind();
  /// Enters the next value, an array ('[') or object ('{').
  bool enter(char bracket);
  /// True if the entered array has another element: then read, skip or enter it. At its end the array is left.
  bool next_element();
  /// The next key of the entered object, without escapes; false at the object's end.
  bool next_key(std::string& key);
  /// The complete text of the next value; valid until the next call.
  bool value(std::string_view& text);
  /// Skips the next value, of any size.
  bool skip();

  /// Start of the latest value that was entered, cut out or skipped, in bytes from the start of the file.
  [[nodiscard]] std::int64_t begin() const { return begin_; }
  [[nodiscard]] bool failed() const { return failed_; }
  /// REQUIRES: failed().
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  /// The next byte that is not white space, not consumed; 0 at the end.
  char next_byte();
  /// Consumes `c`, or fails.
  bool expect(char c, std::string_view expected);
  /// Shared by next_element and next_key: skips the comma before the next item, or leaves the array or object.
  bool next_in(char closing);
  bool fail(Error error);
  /// Fails at the byte that comes next.
  bool fail_expected(std::string_view expected);

  Input& input_;
  std::vector<bool> first_;  ///< for each open array or object: true if nothing of it was read yet
  std::int64_t begin_{0};
  bool failed_{false};
  Error error_{};
};

}  // namespace kvplan::traces
