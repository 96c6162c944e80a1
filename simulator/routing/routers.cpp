#include "simulator/routing/routers.h"

#include "simulator/base/family.h"

// One line per member, sorted by name.
#define KVPLAN_ROUTERS(MEMBER)  \
  MEMBER(router_least_loaded)   \
  MEMBER(router_prefix_affine)  \
  MEMBER(router_round_robin)    \
  MEMBER(router_session_affine) \
  MEMBER(router_two_choices)    \
  MEMBER(router_vllm_dp)

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
