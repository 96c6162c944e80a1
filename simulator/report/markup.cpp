#include "simulator/report/markup.h"

#include <cmath>

#include "simulator/base/check.h"
#include "simulator/base/json_writer.h"

namespace kvplan::report {
namespace {

constexpr std::string_view kUnknown = "\xEF\xBF\xBD";  // U+FFFD

/// Bytes of the UTF-8 character at the beginning of the text; 0 if the bytes are not a UTF-8 character.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool too_long = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool too_large = first == 0xF4 && byte(1) >= 0x90;
  return too_long || surrogate || too_large ? 0 : size;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const char c = text[0];
    if (size == 0 || (size == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) && c != '\n')) {
      out += kUnknown;
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

std::string coordinate(double value) {
  const double hundredths = std::round(value * 100);
  return shortest(hundredths == 0 ? 0 : hundredths / 100);
}

void Markup::open(std::string_view element, Attributes attributes) {
  out_.append("<").append(element);
  for (const Attribute& a : attributes)
    out_.append(" ").append(a.name).append("=\"").append(escaped(a.value)).append("\"");
}

Markup& Markup::begin(std::string_view element, Attributes attributes) {
  open(element, attributes);
  out_ += '>';
  open_.emplace_back(element);
  return *this;
}

Markup& Markup::end() {
  KVPLAN_CHECK(!open_.empty());
  out_.append("</").append(open_.back()).append(">");
  open_.pop_back();
  return *this;
}

Markup& Markup::empty(std::string_view element, Attributes attributes) {
  open(element, attributes);
  out_ += "/>";
  return *this;
}

Markup& Markup::text(std::string_view text) {
  out_ += escaped(text);
  return *this;
}

Markup& Markup::leaf(std::string_view element, std::string_view content, Attributes attributes) {
  return begin(element, attributes).text(content).end();
}

Markup& Markup::raw(std::string_view markup) {
  out_ += markup;
  return *this;
}

Markup& Markup::line_break() {
  out_ += '\n';
  return *this;
}

std::string Markup::take() {
  KVPLAN_CHECK(open_.empty());
  return std::move(out_);
}

}  // namespace kvplan::report
