// What taking memory costs of the device, step by step: requested bytes, and by how much the device's free memory fell.
//
// A cache is taken in growing pieces (1 KiB to 1 GiB, and one byte more), then a case's regions as problems take them,
// and all of it is given back. On NVIDIA devices physical memory comes in pages of 2 MiB: what a request takes beyond
// its own bytes is the rest of its last page, or nothing where an earlier small request left room (`explained`);
// `residual` is what this does not explain.
#pragma once

#include <string>
#include <vector>

#include "simulator/base/json_writer.h"
#include "simulator/base/result.h"
#include "validator/kernels/machine.h"

namespace kvplan::validator {

struct MemoryEvent {
  std::string what;
  std::int64_t requested{0};  ///< of this event; below 0 where it gives back
  std::int64_t live{0};       ///< requested and not given back, after it
  std::int64_t free{0};       ///< of the device, after it
  std::int64_t taken{0};      ///< free memory before all events, less now
  std::int64_t rounded{
      0};  ///< `live`, each large request (1 MiB and more) rounded up to pages of 2 MiB, the small
           ///< ones together
  std::int64_t residual{0};  ///< taken - rounded
};

/// Errors: the machine's.
Result<std::vector<MemoryEvent>> memory_events(Machine& machine);
void put_memory_events(JsonWriter& json, const std::vector<MemoryEvent>& events);
/// In a few lines.
std::vector<std::string> memory_text(const std::vector<MemoryEvent>& events);

}  // namespace kvplan::validator
