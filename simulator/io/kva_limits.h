// Numbers that the .kva format fixes, for its reader and its writer.
#pragma once

#include <cstdint>

#include "simulator/attention/recording.h"

namespace kvplan::io {

/// Greatest length of a sequence.
inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxSequences = std::int64_t{1} << 20;

std::int64_t element_bytes(attention::Element element);

/// Number of weights in rows [first, first + count).
constexpr std::int64_t weights_in_rows(std::int64_t first, std::int64_t count) {
  return count * (first + 1) + count * (count - 1) / 2;
}

/// Checks the limits of a file's header; the error's field names the number. In version 2, sequences are not in the
/// header: see check_sequence.
Status check_kva_limits(const attention::RecordingInfo& info);
/// Checks a sequence of version 2. The length of an incomplete one is not checked.
Status check_sequence(const attention::SequenceInfo& sequence, std::size_t number);

}  // namespace kvplan::io
