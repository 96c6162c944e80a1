// Finds where the text between the quotes of a JSON string ends, eight bytes at a time.
#pragma once

#include <bit>
#include <cstdint>

#include "traces/import/digits.h"

namespace kvplan::traces {

/// The highest bit of the first of eight bytes that is a quote, a backslash or below a space. Bits of bytes behind it
/// may be set too, and mean nothing (the subtractions borrow). 0 if there is no such byte.
constexpr std::uint64_t text_ends(std::uint64_t bytes) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  const std::uint64_t quote = bytes ^ kEach * '"';
  const std::uint64_t backslash = bytes ^ kEach * '\\';
  return (((quote - kEach) & ~quote) | ((backslash - kEach) & ~backslash) |
          ((bytes - kEach * 0x20) & ~bytes)) &
         kEach * 0x80;
}

/// The first byte that is a quote, a backslash or below a space, which plain text does not contain; `end` if there is
/// none. Reads nothing behind `end`.
inline const char* plain_text_end(const char* at, const char* end) {
  for (; end - at >= 8; at += 8)
    if (const std::uint64_t ends = text_ends(eight_bytes(at)); ends != 0)
      return at + std::countr_zero(ends) / 8;
  while (at != end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) ++at;
  return at;
}

}  // namespace kvplan::traces
