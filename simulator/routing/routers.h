// The router family: which replica serves a request. A member is one file router_NAME.cpp with a
// `RouterEntry` and one line in routers.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "simulator/base/component.h"
#include "simulator/core/workload.h"

namespace kvplan::routing {

/// Asked once per request, in order of arrival, before any replica runs: it knows the requests, not the
/// replicas' state. Deterministic.
class Router {
 public:
  virtual ~Router() = default;
  /// A replica in [0, replicas).
  virtual std::int64_t route(RequestId request) = 0;
};

struct RouterEntry {
  Descriptor descriptor;
  /// The workload outlives the router. REQUIRES: replicas >= 1.
  std::unique_ptr<Router> (*make)(const Choice&, const core::Workload&, std::int64_t replicas);
};

std::span<const RouterEntry* const> routers();
Catalogue router_descriptors();
/// REQUIRES: the choice is of family "router".
const RouterEntry& router_entry(const Choice& choice);

}  // namespace kvplan::routing
