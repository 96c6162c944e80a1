#include "traces/import/json_elements.h"

#include <algorithm>

#include "traces/import/fields.h"
#include "traces/import/json_cursor.h"
#include "traces/import/json_scan.h"

namespace kvplan::traces {
namespace {

/// Bytes that are looked at first, and bytes that are skipped at a time.
constexpr std::size_t kWindow = std::size_t{1} << 16;
constexpr std::size_t kShown = 41;

}  // namespace

JsonElements::JsonElements(Input& input) : input_(input) {
  if (input_.position() == 0 && input_.peek(3) == "\xEF\xBB\xBF") input_.take(3);
}

bool JsonElements::fail(Error error) {
  if (!failed_ && input_.failed())
    error_ = input_.error();
  else if (!failed_)
    error_ = std::move(error).at_file(input_.path());
  failed_ = true;
  return false;
}

bool JsonElements::fail_expected(std::string_view expected) {
  const std::int64_t position = input_.position();
  const std::string_view next = input_.peek(kShown);
  return fail(bad_input("expected " + std::string(expected) + ", found " +
                        (next.empty() ? "the end of the file" : shown(next)))
                  .at_byte(position));
}

char JsonElements::next_byte() {
  if (failed_) return 0;
  for (;;) {
    const std::string_view view = input_.peek(kWindow);
    const std::size_t first = std::min(view.find_first_not_of(" \t\r\n"), view.size());
    if (first < view.size()) {
      const char found = view[first];
      input_.take(first);
      return found;
    }
    input_.take(view.size());
    if (input_.failed()) fail({});
    if (view.size() < kWindow) return 0;
  }
}

bool JsonElements::at_end() {
  return next_byte() == 0 && (failed_ || input_.peek(1).empty());
}

bool JsonElements::expect_end() {
  return at_end() ? !failed_ : fail_expected("the end of the file");
}

char JsonElements::kind() {
  const char next = next_byte();
  return next == 0 ? char{0} : JsonCursor(std::string_view(&next, 1)).kind();
}

bool JsonElements::expect(char c, std::string_view expected) {
  if (next_byte() != c || failed_) return failed_ ? false : fail_expected(expected);
  input_.take(1);
  return true;
}

bool JsonElements::enter(char bracket) {
  next_byte();
  begin_ = input_.position();
  if (!expect(bracket, bracket == '[' ? "a JSON array" : "a JSON object")) return false;
  first_.push_back(true);
  return true;
}

bool JsonElements::next_in(char closing) {
  if (failed_) return false;
  if (next_byte() == closing) {
    input_.take(1);
    first_.pop_back();
    return false;
  }
  if (!first_.back() &&
      !expect(',', closing == ']' ? "a comma or the end of the array" : "a comma or the end of the object"))
    return false;
  first_.back() = false;
  return !failed_;
}

bool JsonElements::next_element() {
  return next_in(']');
}

bool JsonElements::next_key(std::string& key) {
  if (!next_in('}')) return false;
  if (next_byte() != '"') return fail_expected("a key in quotes");
  std::string_view text;
  if (!value(text)) return false;
  if (!unescape(text.substr(1, text.size() - 2), key))
    return fail(bad_input("expected a key with JSON escapes, found " + shown(text)).at_byte(begin_));
  return expect(':', "a colon after the key");
}

bool JsonElements::value(std::string_view& text) {
  if (next_byte() == 0 && !failed_) return fail_expected("a JSON value");
  if (failed_) return false;
  begin_ = input_.position();
  JsonScan scan;
  std::size_t seen = 0;
  for (std::size_t window = kWindow;; window = std::min(window * 2, kMostBytes + 1)) {
    const std::string_view view = input_.peek(window);
    seen += scan.feed(view.substr(seen));
    const bool ended = view.size() < window;
    if (seen > kMostBytes)
      return fail(bad_input("a value of more than " + std::to_string(kMostBytes) + " bytes").at_byte(begin_));
    if (scan.done() || (ended && !input_.failed() && !scan.failed() && scan.finish())) break;
    if (scan.failed()) {
      input_.take(seen);
      return fail_expected("JSON");
    }
    if (ended) return fail(bad_input("the file ends inside the value that begins here").at_byte(begin_));
  }
  text = input_.take(seen);
  return true;
}

bool JsonElements::skip() {
  if (next_byte() == 0 && !failed_) return fail_expected("a JSON value");
  if (failed_) return false;
  begin_ = input_.position();
  JsonScan scan;
  for (;;) {
    const std::string_view view = input_.peek(kWindow);
    const std::size_t used = scan.feed(view);
    const bool ended = view.size() < kWindow;
    input_.take(used);
    if (scan.done() || (ended && !input_.failed() && !scan.failed() && scan.finish())) return true;
    if (scan.failed()) return fail_expected("JSON");
    if (ended) return fail(bad_input("the file ends inside the value that begins here").at_byte(begin_));
  }
}

}  // namespace kvplan::traces
