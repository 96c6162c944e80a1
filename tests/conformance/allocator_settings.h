// The allocators that the conformance test covers, and the settings that it gives them.
#pragma once

#include <string>
#include <vector>

#include "simulator/memory/allocators.h"

namespace kvplan::test {

/// The catalogue, and the example of the manual.
std::vector<const memory::AllocatorEntry*> allocator_members();

struct AllocatorSetting {
  std::string component;
  bool prefix_cache;
  bool block_ids;             ///< false: no content is shared, and block ids are not needed
  std::string replacement{};  ///< empty: the pool's own replacement
};

/// All combinations of the choices of text parameters; also small and odd values of whole-number parameters.
std::vector<AllocatorSetting> allocator_settings();

}  // namespace kvplan::test
