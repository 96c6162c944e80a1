// Text that comes from files and may be anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvplan {

/// Bytes of the UTF-8 character that `text` begins with; 0 if it begins with none (RFC 3629: no overlong
/// forms, no surrogates, nothing past U+10FFFF).
std::size_t utf8_length(std::string_view text);

/// The text as it may be sent to a terminal, on one line: control characters (those of U+0080 to U+009F too) and bytes
/// that are no UTF-8 as \xNN, all else as it is.
std::string printable(std::string_view text);

}  // namespace kvplan
