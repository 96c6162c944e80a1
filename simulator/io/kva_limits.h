// Numbers that version 1 of the .kva format fixes, for its reader and its writer.
#pragma once

#include <cstdint>

#include "simulator/attention/recording.h"

namespace kvplan::io {

/// Greatest length of a sequence.
inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 20;

std::int64_t element_bytes(attention::Element element);

/// Weights of rows [first, first + count).
constexpr std::int64_t weights_in_rows(std::int64_t first, std::int64_t count) {
  return count * (first + 1) + count * (count - 1) / 2;
}

}  // namespace kvplan::io
