#include "traces/synth/services.h"

#include "simulator/base/family.h"

// One line per member, sorted by name.
#define KVPLAN_SERVICES(MEMBER) MEMBER(chat)

namespace kvplan::traces {

KVPLAN_FAMILY(ServiceEntry, KVPLAN_SERVICES)

Catalogue service_descriptors() {
  return family().descriptors();
}

const ServiceEntry& service_entry(const Choice& choice) {
  return family().member(choice);
}

}  // namespace kvplan::traces
