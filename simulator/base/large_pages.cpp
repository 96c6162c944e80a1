#include "simulator/base/large_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace kvplan {

void prefer_large_pages(void* data, std::size_t bytes) {
  constexpr std::uintptr_t kLarge = std::uintptr_t{1} << 21;
  // Whole large pages inside only, and only where they are most of it: neighbours are none of our business.
  if (bytes < 2 * kLarge) return;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = (address + kLarge - 1) / kLarge * kLarge;
  const std::uintptr_t end = (address + bytes) / kLarge * kLarge;
  if (begin >= end) return;
#ifdef MADV_HUGEPAGE
  // An error means that there are none to be had.
  static_cast<void>(::madvise(static_cast<char*>(data) + (begin - address), end - begin, MADV_HUGEPAGE));
#endif
}

}  // namespace kvplan
