// The family "arrivals".
#include "simulator/base/family.h"
#include "traces/synth/parts.h"

// One line per member, sorted by name.
#define KVPLAN_ARRIVALS(MEMBER) \
  MEMBER(arrivals_at_once)      \
  MEMBER(arrivals_batched)      \
  MEMBER(arrivals_constant)     \
  MEMBER(arrivals_gamma)        \
  MEMBER(arrivals_poisson)      \
  MEMBER(arrivals_servegen)     \
  MEMBER(arrivals_trace)

namespace kvplan::traces {

KVPLAN_FAMILY(ArrivalsEntry, KVPLAN_ARRIVALS)

Catalogue arrivals_descriptors() {
  return family().descriptors();
}

const ArrivalsEntry& arrivals_entry(const Choice& choice) {
  return family().member(choice);
}

}  // namespace kvplan::traces
