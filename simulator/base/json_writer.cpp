#include "simulator/base/json_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "simulator/base/check.h"
#include "simulator/base/utf8.h"

namespace kvplan {

std::string shortest(double number) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return {buffer.data(), end};
}

void JsonWriter::newline() {
  if (indent_ == 0) return;
  out_ += '\n';
  out_.append(levels_.size() * static_cast<std::size_t>(indent_), ' ');
}

void JsonWriter::before_value() {
  if (key_pending_) {
    key_pending_ = false;
    return;
  }
  if (levels_.empty()) {
    KVPLAN_CHECK(out_.empty());
    return;
  }
  KVPLAN_CHECK(!levels_.back().object);
  if (!levels_.back().empty) out_ += ',';
  levels_.back().empty = false;
  newline();
}

JsonWriter& JsonWriter::key(std::string_view name) {
  KVPLAN_CHECK(!levels_.empty() && levels_.back().object && !key_pending_);
  if (!levels_.back().empty) out_ += ',';
  levels_.back().empty = false;
  newline();
  key_pending_ = true;
  value(name);
  out_ += indent_ == 0 ? ":" : ": ";
  key_pending_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin_object() {
  before_value();
  out_ += '{';
  levels_.push_back({true, true});
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  before_value();
  out_ += '[';
  levels_.push_back({false, true});
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  KVPLAN_CHECK(!levels_.empty() && levels_.back().object && !key_pending_);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) newline();
  out_ += '}';
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  KVPLAN_CHECK(!levels_.empty() && !levels_.back().object);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) newline();
  out_ += ']';
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  out_ += '"';
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i, 4));
    if (length != 1) {  // file names may contain any bytes; JSON must be UTF-8
      out_ += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(i, length);
      i += length == 0 ? 1 : length;
      continue;
    }
    const char c = text[i++];
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\r':
        out_ += "\\r";
        break;
      case '\t':
        out_ += "\\t";
        break;
      default:
        if (byte < 0x20) {
          constexpr std::string_view kHex = "0123456789abcdef";
          out_ += "\\u00";
          out_ += kHex[byte >> 4];
          out_ += kHex[byte & 15];
        } else {
          out_ += c;
        }
    }
  }
  out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
  before_value();
  out_ += flag ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::value(std::int64_t number) {
  before_value();
  out_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  before_value();
  out_ += shortest(number);
  return *this;
}

JsonWriter& JsonWriter::digits(std::string_view text) {
  before_value();
  if (text.starts_with('-')) {
    out_ += '-';
    text.remove_prefix(1);
  }
  const std::size_t end = std::min(text.find_first_of("eE"), text.size());
  const std::size_t point = std::min(text.find('.'), end);
  const std::size_t first = std::min(text.find_first_not_of('0'), point);
  out_.append(first < point ? text.substr(first, point - first) : "0");
  if (point + 1 < end) out_.append(text.substr(point, end - point));
  out_.append(text.substr(end));
  return *this;
}

JsonWriter& JsonWriter::null() {
  before_value();
  out_ += "null";
  return *this;
}

std::string JsonWriter::take() {
  KVPLAN_CHECK(levels_.empty() && !key_pending_);
  out_ += '\n';
  return std::move(out_);
}

}  // namespace kvplan
