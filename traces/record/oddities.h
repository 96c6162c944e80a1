// Unusual rows of a trace: counted by importers while they read, and by edits in their results, and reported in the
// same sentences.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "traces/record/trace.h"

namespace kvplan::traces {

struct Oddities {
  std::int64_t rows{0};
  std::int64_t out_of_order{0};  ///< arrivals earlier than the arrival before them
  std::int64_t zero_input{0};
  std::int64_t zero_output{0};
  std::int64_t shrinking{0};  ///< turns with a prompt shorter than that of the turn before in their session
  std::int64_t without_hashes{0};  ///< requests without prefix ids, though the trace has some
  std::int64_t covered_less{0};    ///< requests with fewer prefix ids than full blocks
  std::int64_t block_tokens{0};    ///< 0 = the trace has no prefix ids

  /// One sentence for each count, in this order; empty if the count gives no reason for one.
  [[nodiscard]] std::array<std::string, 6> sentences() const;
};

/// Counts the oddities of a trace as it is. Arrivals of different sessions are compared only if they share a clock.
Oddities oddities_of(const Trace& trace);

/// "3 of 17", for warnings.
std::string count_of(std::int64_t part, std::int64_t all);

}  // namespace kvplan::traces
