// The family "prefixes".
#include "simulator/base/family.h"
#include "traces/synth/parts.h"

// One line per member, sorted by name.
#define KVPLAN_PREFIXES(MEMBER) \
  MEMBER(kGroupsPrefixes)       \
  MEMBER(kNonePrefixes)

namespace kvplan::traces {

KVPLAN_FAMILY(PrefixesEntry, KVPLAN_PREFIXES)

Catalogue prefixes_descriptors() {
  return family().descriptors();
}

const PrefixesEntry& prefixes_entry(const Choice& choice) {
  return family().member(choice);
}

}  // namespace kvplan::traces
