// One simulated run with its event log, and what its kernels have in common.
#pragma once

#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "validator/run/step_kernels.h"

namespace kvplan::validator {

struct Simulated {
  std::string model, allocator, eviction, format;
  KernelShape shape;
  std::vector<std::string> warnings;
};

/// Simulates a scenario file, or a trace in the default scenario, with PATH=VALUE settings, and writes its event log.
/// Errors: bad input; a run that an event log cannot describe; the user asked to stop.
Result<Simulated> simulate(const std::string& input, const std::vector<std::string>& sets,
                           const std::string& log);

}  // namespace kvplan::validator
