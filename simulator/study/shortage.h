// Whether requests had to wait for memory, as far as the numbers of a result carry it.
#pragma once

#include <cstdint>

#include "simulator/run/run_summary.h"

namespace kvplan::plan {

enum class Shortage : std::uint8_t {
  kNoTime,   ///< nothing ran, or no time passed
  kNever,    ///< nothing was preempted and no request was refused memory
  kHappens,  ///< something was preempted, or memory lay idle while a request was refused
  kUnknown,  ///< all memory was in use, or idle with content: a refusal leaves no trace there
};

Shortage shortage_of(const RunSummary& result);

/// Bytes that nobody held at the peak of the fleet (cached, stranded or free). REQUIRES: memory.
std::int64_t idle_at_peak(const RunSummary& result);

/// The same of the replica that had least, each at its own peak: requests of a replica wait for its memory alone.
/// REQUIRES: memory.
std::int64_t least_idle(const RunSummary& result);

/// True where an allocation may have been refused and left no trace in the numbers: what is idle is `stranded`
/// after a refusal, but not what is cached, so a refusal shows only where something else was idle. It cannot
/// have happened if even the least idle memory was more than the largest request takes. REQUIRES: memory.
bool may_hide_refusals(const RunSummary& result);

/// True if a batch of some replica came to the engine's max_seqs.
bool running_slots_ran_out(const RunSummary& result);

}  // namespace kvplan::plan
