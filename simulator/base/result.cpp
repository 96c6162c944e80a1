#include "simulator/base/result.h"

#include "simulator/base/utf8.h"

namespace kvplan {
namespace {

/// Shortens a text: a key in a hostile file, or a path in it, may be as long as the file.
std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  return text.substr(0, 80) + "... (" + std::to_string(text.size()) + " bytes)";
}

}  // namespace

std::string Error::to_string() const {
  std::string out;
  if (!file.empty()) out += shortened(file, 4096);
  if (line > 0) {
    out += out.empty() ? "line " : ":";
    out += std::to_string(line);
  } else if (byte >= 0) {
    out += out.empty() ? "byte " : ": byte ";
    out += std::to_string(byte);
  }
  if (!out.empty()) out += ": ";
  if (!field.empty()) {
    out += shortened(field, 160);
    out += ": ";
  }
  out += message;
  return printable(out);  // texts from files may contain control characters
}

Error&& Error::at_file(std::string_view path) && {
  file = path;
  return std::move(*this);
}
Error&& Error::at_line(std::int64_t number) && {
  line = number;
  return std::move(*this);
}
Error&& Error::at_byte(std::int64_t offset) && {
  byte = offset;
  return std::move(*this);
}
Error&& Error::at_field(std::string_view name) && {
  field = name;
  return std::move(*this);
}

}  // namespace kvplan
