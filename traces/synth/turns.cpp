// The family "turns".
#include "simulator/base/family.h"
#include "traces/synth/parts.h"

// One line per member, sorted by name.
#define KVPLAN_TURNS(MEMBER) \
  MEMBER(turns_repeat)       \
  MEMBER(turns_sessions)     \
  MEMBER(turns_single)

namespace kvplan::traces {

KVPLAN_FAMILY(TurnsEntry, KVPLAN_TURNS)

Catalogue turns_descriptors() {
  return family().descriptors();
}

const TurnsEntry& turns_entry(const Choice& choice) {
  return family().member(choice);
}

}  // namespace kvplan::traces
