#include "simulator/routing/routers.h"

#include "simulator/base/family.h"

// One line per member, sorted by name.
#define KVPLAN_ROUTERS(MEMBER) \
  MEMBER(kLeastLoadedRouter)   \
  MEMBER(kPrefixAffineRouter)  \
  MEMBER(kRoundRobinRouter)    \
  MEMBER(kSessionAffineRouter) \
  MEMBER(kTwoChoicesRouter)    \
  MEMBER(kVllmDpRouter)

namespace kvplan::routing {

KVPLAN_FAMILY(RouterEntry, KVPLAN_ROUTERS)

std::span<const RouterEntry* const> routers() {
  return family().members();
}

Catalogue router_descriptors() {
  return family().descriptors();
}

const RouterEntry& router_entry(const Choice& choice) {
  return family().member(choice);
}

}  // namespace kvplan::routing
