#include "traces/import/json_scan.h"

#include <algorithm>

#include "traces/import/json_text.h"

namespace kvplan::traces {
namespace {

constexpr std::array<std::string_view, 6> kWords{"true", "false", "null", "NaN", "Infinity", "-Infinity"};

bool is_numeric(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

bool is_word(char c) {
  return is_numeric(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

void JsonScan::end_value() {
  after_value_ = true;
  at_ = depth_ == 0 ? At::kDone : At::kBetween;
}

bool JsonScan::add_to_word(char c) {
  numeric_ = numeric_ && is_numeric(c);
  if (word_bytes_ < word_.size()) {
    word_[word_bytes_++] = c;
  } else if (!numeric_) {
    return false;
  }
  const std::string_view word(word_.data(), word_bytes_);
  return numeric_ || std::any_of(kWords.begin(), kWords.end(),
                                 [&](std::string_view known) { return known.starts_with(word); });
}

bool JsonScan::word_is_value() const {
  const std::string_view word(word_.data(), word_bytes_);
  return numeric_ || std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

bool JsonScan::between(char c) {
  switch (c) {
    case ' ':
    case '\t':
    case '\n':
    case '\r':
      return true;
    case '{':
    case '[':
      if (after_value_ || depth_ == JsonCursor::kMaxDepth) return false;
      open_[static_cast<std::size_t>(depth_++)] = c;
      return true;
    case '}':
    case ']':
      if (depth_ == 0 || open_[static_cast<std::size_t>(depth_ - 1)] != (c == '}' ? '{' : '[')) return false;
      --depth_;
      end_value();
      return true;
    case ',':
    case ':':
      if (depth_ == 0 || !after_value_) return false;
      after_value_ = false;
      return true;
    case '"':
      at_ = At::kText;
      return !after_value_;
    default:
      at_ = At::kWord;
      numeric_ = true;
      word_bytes_ = 0;
      return !after_value_ && is_word(c) && add_to_word(c);
  }
}

std::size_t JsonScan::feed(std::string_view text) {
  std::size_t i = 0;
  while (i != text.size() && at_ != At::kDone && at_ != At::kWrong) {
    const char c = text[i];
    if (at_ == At::kBetween) {
      if (between(c)) {
        ++i;
      } else {
        at_ = At::kWrong;
      }
    } else if (at_ == At::kText) {
      i = static_cast<std::size_t>(plain_text_end(text.data() + i, text.data() + text.size()) - text.data());
      if (i == text.size()) break;
      if (text[i] == '"') {
        end_value();
      } else {
        at_ = text[i] == '\\' ? At::kEscape : At::kWrong;
      }
      if (at_ != At::kWrong) ++i;
    } else if (at_ == At::kEscape) {
      at_ = At::kText;
      ++i;
    } else if (is_word(c) && add_to_word(c)) {
      ++i;
    } else if (!is_word(c) && word_is_value()) {
      end_value();
    } else {
      at_ = At::kWrong;
    }
  }
  return i;
}

bool JsonScan::finish() {
  if (at_ == At::kWord && depth_ == 0 && word_is_value()) at_ = At::kDone;
  return at_ == At::kDone;
}

}  // namespace kvplan::traces
