// The host with a device's interface and injected faults: for tests of everything above a machine.
#pragma once

#include <cstdint>
#include <memory>

#include "validator/kernels/machine.h"

namespace kvplan::validator {

/// Calls are counted from 1; 0: never.
struct MachineFaults {
  std::int64_t no_memory_at{0};   ///< this allocation fails
  std::int64_t lost_at{0};        ///< this copy, fill, launch or sample fails, and all after it
  std::int64_t slow_at{0};        ///< this sample takes a thousand times as long
  std::int64_t short_copy_at{0};  ///< this download does not write its last byte
};

/// Observations for a test; outlives the machine.
struct MachineWatch {
  std::int64_t allocations{0}, live{0}, calls{0}, copies{0};  ///< copies: downloads
};

/// `watch` is updated as long as the machine lives.
std::unique_ptr<Machine> make_fake_machine(const MachineFaults& faults, MachineWatch& watch);

}  // namespace kvplan::validator
