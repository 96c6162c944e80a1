// Families with one member each so far: the engine (scheduler rules and their parameters) and the router.
#pragma once

#include "simulator/base/component.h"
#include "simulator/core/engine.h"

namespace kvplan::policies {

/// Family "engine".
Catalogue engine_descriptors();
core::SchedulerParams scheduler_params(const Choice& engine);

/// Family "router": which replica serves the i-th arrival.
Catalogue router_descriptors();
/// Replica of the `arrival`-th request in order of arrival.
std::int64_t route(const Choice& router, std::int64_t arrival, std::int64_t replicas);

}  // namespace kvplan::policies
