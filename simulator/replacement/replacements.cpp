#include "simulator/replacement/replacements.h"

#include "simulator/base/family.h"

// One line per member, sorted by name.
#define KVPLAN_REPLACEMENTS(MEMBER) \
  MEMBER(two_q)                     \
  MEMBER(arc)                       \
  MEMBER(belady)                    \
  MEMBER(clock)                     \
  MEMBER(cost_aware)                \
  MEMBER(fifo)                      \
  MEMBER(gdsf)                      \
  MEMBER(hyperbolic)                \
  MEMBER(lease)                     \
  MEMBER(lecar)                     \
  MEMBER(lfu)                       \
  MEMBER(lirs)                      \
  MEMBER(lru)                       \
  MEMBER(lru_k)                     \
  MEMBER(s3fifo)                    \
  MEMBER(sieve)                     \
  MEMBER(slru)                      \
  MEMBER(ttl)                       \
  MEMBER(vllm_queue)                \
  MEMBER(wtinylfu)                  \
  MEMBER(workload_aware)

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
