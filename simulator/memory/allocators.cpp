#include "simulator/memory/allocators.h"

#include "simulator/base/family.h"

// One line per member, sorted by name.
#define KVPLAN_ALLOCATORS(MEMBER) \
  MEMBER(allocator_buddy)         \
  MEMBER(allocator_caching)       \
  MEMBER(allocator_contiguous)    \
  MEMBER(allocator_divided)       \
  MEMBER(allocator_grouped)       \
  MEMBER(allocator_growing)       \
  MEMBER(allocator_no_cache)      \
  MEMBER(allocator_paged)         \
  MEMBER(allocator_vmm)

namespace kvplan::memory {

KVPLAN_FAMILY(AllocatorEntry, KVPLAN_ALLOCATORS)

std::span<const AllocatorEntry* const> allocators() {
  return family().members();
}

Catalogue allocator_descriptors() {
  return family().descriptors();
}

std::string allocators_with(bool AllocatorEntry::*trait) {
  std::string out;
  for (const AllocatorEntry* entry : allocators())
    if (entry->*trait) out.append(out.empty() ? "\"" : " or \"").append(entry->descriptor.name).append("\"");
  return out;
}

const AllocatorEntry& allocator_entry(const Choice& choice) {
  return family().member(choice);
}

}  // namespace kvplan::memory
