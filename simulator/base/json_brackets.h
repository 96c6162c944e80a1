// The brackets of a JSON text, valid or not: for error messages about text that no parser accepts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvplan {

/// Calls `take(at, depth)` for each bracket outside quotes, until it returns false. `depth` is the number of brackets
/// that are open after this one; it is negative if more were closed than opened.
template <class Take>
void each_bracket(std::string_view text, Take take) {
  std::int64_t depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[' || c == '}' || c == ']') {
      depth += c == '{' || c == '[' ? 1 : -1;
      if (!take(at, depth)) return;
    }
  }
}

}  // namespace kvplan
