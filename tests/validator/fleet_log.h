// Runs of several replicas that write an event log into memory.
#pragma once

#include <string>

#include "simulator/base/random.h"
#include "simulator/run/run.h"
#include "tests/validator/run_log.h"

namespace kvplan::test {

struct FleetRunLog {
  runs::RunResult result;
  std::string bytes;
};
FleetRunLog log_of_fleet(const runs::Scenario& scenario, const traces::Trace& trace, Stepping stepping,
                         int threads = 1);

/// Replicas with one of kFleetMemories ways to store tokens, and with the given router.
runs::Scenario draw_fleet(Random& random, std::int64_t memory, const std::string& router);
/// vLLM V1 on blocks, with and without windows and courses, on ranges, on memory in bytes and without KV memory;
/// SGLang with and without its tree.
inline constexpr std::int64_t kFleetMemories = 15;
/// Every router, with each of its load measures.
std::vector<std::string> all_routers();

}  // namespace kvplan::test
