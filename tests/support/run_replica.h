// One replica served by itself, in tests.
#pragma once

#include <span>

#include "simulator/core/clock.h"
#include "simulator/core/replica.h"

namespace kvplan::test {

/// Serves `requests` (as core::run_alone takes them).
inline Status serve_alone(const core::ReplicaSetup& setup, std::span<const RequestId> requests, bool naive) {
  const auto replica = naive ? core::make_naive_replica(setup) : core::make_fast_replica(setup);
  return core::run_alone(*replica, *setup.workload, requests, setup.control);
}

}  // namespace kvplan::test
