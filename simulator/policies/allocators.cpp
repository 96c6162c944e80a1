#include "simulator/policies/allocators.h"

#include <array>
#include <vector>

#include "simulator/base/check.h"

namespace kvplan::policies {

std::span<const AllocatorEntry* const> allocators() {
  // One line per member, sorted by name.
  static constexpr std::array kAll{
      &kContiguousAllocator,
      &kPagedAllocator,
  };
  return kAll;
}

Catalogue allocator_descriptors() {
  static const auto kDescriptors = [] {
    std::vector<const Descriptor*> out;
    for (const AllocatorEntry* entry : allocators()) out.push_back(&entry->descriptor);
    return out;
  }();
  return kDescriptors;
}

const AllocatorEntry& allocator_entry(const Choice& choice) {
  for (const AllocatorEntry* entry : allocators())
    if (&entry->descriptor == &choice.descriptor()) return *entry;
  check_failed("choice is an allocator", __FILE__, __LINE__);
}

}  // namespace kvplan::policies
