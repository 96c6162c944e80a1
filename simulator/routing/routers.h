// The router family: chooses the replica of a request (core/router.h). A member is one file router_NAME.cpp with a
// `RouterEntry`, and one line in routers.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "simulator/base/component.h"
#include "simulator/core/router.h"
#include "simulator/core/workload.h"

namespace kvplan::routing {

struct RouterEntry {
  Descriptor descriptor;
  /// The workload outlives the router. REQUIRES: replicas >= 1.
  std::unique_ptr<core::Router> (*make)(const Choice&, const core::Workload&, std::int64_t replicas);
};

std::span<const RouterEntry* const> routers();
Catalogue router_descriptors();
/// REQUIRES: the choice is of family "router".
const RouterEntry& router_entry(const Choice& choice);

}  // namespace kvplan::routing
