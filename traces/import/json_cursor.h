// Walks the text of one JSON value, field by field, without building anything: for importers of JSON. Values that are
// read are checked; skipped values are only checked for their brackets and quotes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "traces/import/digits.h"

namespace kvplan::traces {

/// Functions return false if the text is not what was requested; `failed()` then stays true and `where()` is the
/// offset. Views point into the text.
class JsonCursor {
 public:
  /// Values nested deeper are errors.
  static constexpr int kMaxDepth = 256;

  JsonCursor() = default;
  explicit JsonCursor(std::string_view text) : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  /// 'n' number, 's' string, 'a' array, 'o' object, 'l' true, false or null, 0 for anything else.
  char kind();
  bool enter_object() { return expect('{'); }
  /// The next key of the entered object; false at its end and on an error. After true, read or skip the key's value.
  bool next_key(std::string_view& key, bool& first);
  bool enter_array() { return expect('['); }
  /// True if the entered array has another element: then read or skip it. False at the array's end and on an
  /// error.
  bool next_element(bool& first);
  /// The text of a number, unchanged.
  bool number(std::string_view& text);
  /// The text between the quotes, unchanged; `escaped` says whether it has escapes (see unescape).
  bool string(std::string_view& text, bool& escaped);
  bool skip_value();
  /// The text of the next value of any kind, quotes and brackets included.
  bool value(std::string_view& text);
  /// Fast path for an array of whole numbers; calls `take(value)` for each. False if it is anything else.
  template <class Take>
  bool integers(Take&& take);
  /// REQUIRES: at least this many bytes are left.
  void skip(std::size_t bytes) { at_ += bytes; }
  /// True if only white space is left.
  bool at_end();

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::size_t where() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  void space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }
  bool wrong() {
    failed_ = true;
    return false;
  }
  bool expect(char c);
  const char* begin_{nullptr};
  const char* at_{nullptr};
  const char* end_{nullptr};
  bool failed_{false};
};

/// Replaces the escapes in a string's text (UTF-8); false for an unknown escape.
bool unescape(std::string_view text, std::string& out);

template <class Take>
bool JsonCursor::integers(Take&& take) {
  if (!expect('[')) return false;
  space();
  if (at_ != end_ && *at_ == ']') {
    ++at_;
    return true;
  }
  for (;;) {
    space();
    std::uint64_t value = 0;
    const char* const start = at_;
    // Eight digits at a time where eight bytes are left, then the rest one by one.
    while (end_ - at_ >= 8) {
      const Digits digits = digits_at(at_);
      value = value * static_cast<std::uint64_t>(kPowersOfTen[digits.count]) + digits.value;
      at_ += digits.count;
      if (digits.count < 8) break;
    }
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9')
      value = value * 10 + static_cast<std::uint64_t>(*at_++ - '0');
    const auto digits = at_ - start;
    if (digits == 0) return wrong();
    if (digits > 19) {
      // 20 digits fit only up to 18446744073709551615: equal length, so compared as text.
      if (digits > 20 || std::string_view(start, 20) > "18446744073709551615") return wrong();
    }
    take(value);
    space();
    if (at_ == end_) return wrong();
    if (*at_ == ']') {
      ++at_;
      return true;
    }
    if (*at_ != ',') return wrong();
    ++at_;
  }
}

}  // namespace kvplan::traces
