// The family "lengths".
#include "simulator/base/family.h"
#include "traces/synth/parts.h"

// One line per member, sorted by name.
#define KVPLAN_LENGTHS(MEMBER) \
  MEMBER(lengths_empirical)    \
  MEMBER(lengths_fixed)        \
  MEMBER(lengths_given)        \
  MEMBER(lengths_lognormal)    \
  MEMBER(lengths_uniform)      \
  MEMBER(lengths_zipf)

namespace kvplan::traces {

KVPLAN_FAMILY(LengthsEntry, KVPLAN_LENGTHS)

Catalogue lengths_descriptors() {
  return family().descriptors();
}

const LengthsEntry& lengths_entry(const Choice& choice) {
  return family().member(choice);
}

}  // namespace kvplan::traces
