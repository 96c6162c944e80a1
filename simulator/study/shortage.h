// Whether requests had to wait for memory, as far as the numbers of a result tell.
#pragma once

#include <cstdint>

#include "simulator/run/run_summary.h"

namespace kvplan::runs {

enum class Shortage : std::uint8_t {
  kNoTime,   ///< nothing ran, or no time passed
  kNever,    ///< nothing was preempted, and no request was refused memory
  kHappens,  ///< something was preempted, or memory was idle while a request was refused
  kUnknown,  ///< all memory was in use, or idle with cached content, so a refusal would not show in the numbers
};

Shortage shortage_of(const RunSummary& result);

/// Bytes that no request held at the peak of the fleet (cached, stranded or free). REQUIRES: memory.
std::int64_t idle_at_peak(const RunSummary& result);

/// Idle bytes of the replica with the least, each replica at its own peak: a request of a replica waits only for that
/// replica's memory. REQUIRES: memory.
std::int64_t least_idle(const RunSummary& result);

/// True: an allocation may have been refused although the numbers do not show it. After a refusal idle memory is
/// `stranded`, but cached memory is not, so a refusal shows only if other memory was idle. It is impossible if even the
/// least idle memory was more than the largest request takes. REQUIRES: memory.
bool may_hide_refusals(const RunSummary& result);

/// True: a batch of some replica reached the engine's max_seqs.
bool running_slots_ran_out(const RunSummary& result);

}  // namespace kvplan::runs
