// Functions for text from files, which may contain any bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvplan {

/// Bytes of the UTF-8 character that `text` begins with; 0 if it begins with none (RFC 3629: no overlong
/// forms, no surrogates, nothing past U+10FFFF).
std::size_t utf8_length(std::string_view text);

/// The text without its byte-order mark, if it begins with one (U+FEFF as UTF-8; editors of some systems write it).
inline std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

/// The text as it can be sent to a terminal, on one line: control characters (also U+0080 to U+009F) and bytes that
/// are not UTF-8 as \xNN, everything else unchanged.
std::string printable(std::string_view text);

}  // namespace kvplan
