// One replica served by itself, in tests.
#pragma once

#include <span>

#include "simulator/core/clock.h"
#include "simulator/scheduling/vllm/replicas.h"

namespace kvplan::test {

/// Serves `requests` (as in core::run_alone).
inline Status serve_alone(const core::ReplicaSetup& setup, const scheduling::vllm::Params& params,
                          core::Allocator& allocator, std::span<const RequestId> requests, bool naive) {
  const auto make = naive ? scheduling::vllm::make_naive_replica : scheduling::vllm::make_fast_replica;
  const auto replica = make(setup, params, allocator);
  return core::run_alone(*replica, *setup.workload, requests, setup.control);
}

}  // namespace kvplan::test
