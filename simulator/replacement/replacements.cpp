#include "simulator/replacement/replacements.h"

#include "simulator/base/family.h"

// One line per member, sorted by name.
#define KVPLAN_REPLACEMENTS(MEMBER) \
  MEMBER(kTwoQ)                     \
  MEMBER(kArc)                      \
  MEMBER(kBelady)                   \
  MEMBER(kClock)                    \
  MEMBER(kCostAware)                \
  MEMBER(kFifo)                     \
  MEMBER(kGdsf)                     \
  MEMBER(kHyperbolic)               \
  MEMBER(kLease)                    \
  MEMBER(kLecar)                    \
  MEMBER(kLfu)                      \
  MEMBER(kLirs)                     \
  MEMBER(kLru)                      \
  MEMBER(kLruK)                     \
  MEMBER(kS3Fifo)                   \
  MEMBER(kSieve)                    \
  MEMBER(kSlru)                     \
  MEMBER(kTtl)                      \
  MEMBER(kVllmQueue)                \
  MEMBER(kWTinyLfu)                 \
  MEMBER(kWorkloadAware)

namespace kvplan::replacement {

KVPLAN_FAMILY(ReplacementEntry, KVPLAN_REPLACEMENTS)

std::span<const ReplacementEntry* const> replacements() {
  return family().members();
}

Catalogue replacement_descriptors() {
  return family().descriptors();
}

const ReplacementEntry& replacement_entry(const Choice& choice) {
  return family().member(choice);
}

}  // namespace kvplan::replacement
