#include "simulator/scheduling/engines.h"

#include "simulator/base/family.h"

// One line per member, sorted by name.
#define KVPLAN_ENGINES(MEMBER) \
  MEMBER(kSglangEngine)        \
  MEMBER(kVllmV1Engine)

namespace kvplan::scheduling {

KVPLAN_FAMILY(EngineEntry, KVPLAN_ENGINES)

std::span<const EngineEntry* const> engines() {
  return family().members();
}

Catalogue engine_descriptors() {
  return family().descriptors();
}

const EngineEntry& engine_entry(const Choice& choice) {
  return family().member(choice);
}

EngineTraits engine_traits(const Choice& choice) {
  return engine_entry(choice).traits(choice);
}

}  // namespace kvplan::scheduling
