#include "simulator/memory/allocators.h"

#include "simulator/base/family.h"

// One line per member, sorted by name.
#define KVPLAN_ALLOCATORS(MEMBER) \
  MEMBER(kBuddyAllocator)         \
  MEMBER(kCachingAllocator)       \
  MEMBER(kContiguousAllocator)    \
  MEMBER(kDividedAllocator)       \
  MEMBER(kGroupedAllocator)       \
  MEMBER(kGrowingAllocator)       \
  MEMBER(kNoCacheAllocator)       \
  MEMBER(kPagedAllocator)         \
  MEMBER(kVmmAllocator)

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
