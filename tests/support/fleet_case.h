// Random workloads and scenarios for several replicas.
#pragma once

#include <string>

#include "tests/support/random_trace.h"

namespace kvplan::test {

/// Prompts with equal beginnings, bursts, turns that wait for each other, sessions.
inline traces::Trace fleet_trace(Random& random) {
  traces::Trace trace = random_trace(random, {.requests = random.between(1, 50),
                                              .hash_block = 8,
                                              .most_input = 90,
                                              .most_output = 60,
                                              .most_gap_ms = random.chance(1, 2) ? 5 : 60});
  add_turns(random, trace);
  return trace;
}

/// Latencies with steps of no time, of equal length, or of lengths that are hardly ever equal.
inline std::string fleet_latency(Random& random) {
  const char* const kLatencies[]{
      "affine:base_ns=0,token_ns=0,context_ns=0", "affine:base_ns=4000000,token_ns=0,context_ns=0",
      "affine:base_ns=1000000,token_ns=777.7,context_ns=3.3", "affine:base_ns=0,token_ns=0,context_ns=900"};
  return std::string("latency=") + kLatencies[random.below(4)];
}

}  // namespace kvplan::test
