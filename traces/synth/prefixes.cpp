// The family "prefixes".
#include "simulator/base/family.h"
#include "traces/synth/parts.h"

// One line per member, sorted by name.
#define KVPLAN_PREFIXES(MEMBER) \
  MEMBER(prefixes_groups)       \
  MEMBER(prefixes_none)

namespace kvplan::traces {

KVPLAN_FAMILY(PrefixesEntry, KVPLAN_PREFIXES)

Catalogue prefixes_descriptors() {
  return family().descriptors();
}

const PrefixesEntry& prefixes_entry(const Choice& choice) {
  return family().member(choice);
}

}  // namespace kvplan::traces
