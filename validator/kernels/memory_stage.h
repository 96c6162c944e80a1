// How much device memory allocations take, step by step: requested bytes, and the decrease of free memory.
//
// Memory is allocated in growing pieces (1 KiB to 1 GiB, and one byte more), then as a case's regions, and all of it
// is freed. On NVIDIA devices physical memory comes in pages of 2 MiB: a request takes, beyond its own bytes, the
// rest of its last page, or nothing if an earlier small request left room (`explained`); `residual` is the part that
// this does not explain.
#pragma once

#include <string>
#include <vector>

#include "simulator/base/json_writer.h"
#include "simulator/base/result.h"
#include "validator/kernels/machine.h"

namespace kvplan::validator {

struct MemoryEvent {
  std::string what;
  std::int64_t requested{0};  ///< bytes of this event; below 0 if it frees
  std::int64_t live{0};       ///< bytes requested and not freed, after the event
  std::int64_t free{0};       ///< free memory of the device, after the event
  std::int64_t taken{0};      ///< free memory before all events, minus now
  /// `live`, with each large request (1 MiB and more) rounded up to pages of 2 MiB, and the small ones together
  std::int64_t rounded{0};
  std::int64_t residual{0};  ///< taken - rounded
};

/// Errors: the machine's.
Result<std::vector<MemoryEvent>> memory_events(Machine& machine);
void put_memory_events(JsonWriter& json, const std::vector<MemoryEvent>& events);
/// The events in a few lines of text.
std::vector<std::string> memory_text(const std::vector<MemoryEvent>& events);

}  // namespace kvplan::validator
