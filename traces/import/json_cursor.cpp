#include "traces/import/json_cursor.h"

#include <cstring>

#include "traces/import/json_text.h"

namespace kvplan::traces {
namespace {

bool is_number_char(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The number of the four hex digits at `at`, or -1.
int hex4(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

void put_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 63));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 63));
    put(0x80 | (code & 63));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 63));
    put(0x80 | ((code >> 6) & 63));
    put(0x80 | (code & 63));
  }
}

}  // namespace

bool JsonCursor::expect(char c) {
  space();
  if (at_ == end_ || *at_ != c) return wrong();
  ++at_;
  return true;
}

char JsonCursor::kind() {
  space();
  if (at_ == end_) return 0;
  switch (*at_) {
    case '{':
      return 'o';
    case '[':
      return 'a';
    case '"':
      return 's';
    case 't':
    case 'f':
    case 'n':
      return 'l';
    default:
      return (*at_ >= '0' && *at_ <= '9') || *at_ == '-' ? 'n' : char{0};
  }
}

bool JsonCursor::next_key(std::string_view& key, bool& first) {
  space();
  if (at_ == end_) return wrong();
  if (*at_ == '}') {
    ++at_;
    return false;
  }
  if (!first && !expect(',')) return false;
  first = false;
  bool escaped = false;
  return string(key, escaped) && expect(':');
}

bool JsonCursor::next_element(bool& first) {
  space();
  if (at_ == end_) return wrong();
  if (*at_ == ']') {
    ++at_;
    return false;
  }
  if (!first && !expect(',')) return false;
  first = false;
  return true;
}

bool JsonCursor::value(std::string_view& text) {
  space();
  const char* const start = at_;
  if (!skip_value()) return false;
  text = {start, static_cast<std::size_t>(at_ - start)};
  return true;
}

bool JsonCursor::number(std::string_view& text) {
  space();
  const char* const start = at_;
  while (at_ != end_ && is_number_char(*at_)) ++at_;
  if (at_ == start) return wrong();
  text = {start, static_cast<std::size_t>(at_ - start)};
  return true;
}

bool JsonCursor::string(std::string_view& text, bool& escaped) {
  escaped = false;
  if (!expect('"')) return false;
  const char* const start = at_;
  for (;;) {
    at_ = plain_text_end(at_, end_);
    if (at_ == end_) return wrong();
    if (*at_ == '"') {
      text = {start, static_cast<std::size_t>(at_ - start)};
      ++at_;
      return true;
    }
    if (*at_ != '\\') return wrong();
    escaped = true;
    if (++at_ == end_) return wrong();
    ++at_;
  }
}

bool JsonCursor::skip_value() {
  char open[kMaxDepth];
  int depth = 0;
  bool after_value = false;  // a comma or a closing bracket must come next
  do {
    space();
    if (at_ == end_) return wrong();
    const char c = *at_;
    if (c == '{' || c == '[') {
      if (after_value || depth == kMaxDepth) return wrong();
      open[depth++] = c;
      ++at_;
    } else if (c == '}' || c == ']') {
      if (depth == 0 || open[depth - 1] != (c == '}' ? '{' : '[')) return wrong();
      --depth;
      ++at_;
      after_value = true;
    } else if (c == ',' || c == ':') {
      if (depth == 0 || !after_value) return wrong();
      ++at_;
      after_value = false;
    } else if (c == '"') {
      std::string_view text;
      bool escaped = false;
      if (after_value || !string(text, escaped)) return wrong();
      after_value = true;
    } else {
      const char* const start = at_;
      while (at_ != end_ && (is_number_char(*at_) || (*at_ >= 'a' && *at_ <= 'z'))) ++at_;
      const std::string_view word(start, static_cast<std::size_t>(at_ - start));
      const bool known = word == "true" || word == "false" || word == "null";
      if (after_value || word.empty() || (!known && word.find_first_not_of("0123456789+-.eE") != word.npos))
        return wrong();
      after_value = true;
    }
  } while (depth > 0);
  return true;
}

bool JsonCursor::at_end() {
  space();
  return at_ == end_;
}

bool unescape(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return false;
    static constexpr char kFrom[] = "\"\\/bfnrt";
    static constexpr char kTo[] = "\"\\/\b\f\n\r\t";
    if (const char* const found = text[i] == '\0' ? nullptr : std::strchr(kFrom, text[i])) {
      out += kTo[found - kFrom];
      continue;
    }
    if (text[i] != 'u') return false;
    int code = hex4(text, i + 1);
    if (code < 0) return false;
    i += 4;
    if (code >= 0xD800 && code < 0xDC00 && text.substr(i + 1, 2) == "\\u") {
      const int low = hex4(text, i + 3);
      if (low < 0xDC00 || low > 0xDFFF) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      i += 6;
    }
    put_utf8(out, static_cast<std::uint32_t>(code));
  }
  return true;
}

}  // namespace kvplan::traces
