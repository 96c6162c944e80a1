#include "simulator/base/result.h"

namespace kvplan {

std::string Error::to_string() const {
  std::string out;
  if (!file.empty()) out += file;
  if (line > 0) {
    out += out.empty() ? "line " : ":";
    out += std::to_string(line);
  } else if (byte >= 0) {
    out += out.empty() ? "byte " : ": byte ";
    out += std::to_string(byte);
  }
  if (!out.empty()) out += ": ";
  if (!field.empty()) {
    out += field;
    out += ": ";
  }
  out += message;
  return out;
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
