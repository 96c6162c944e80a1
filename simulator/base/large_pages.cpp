#include "simulator/base/large_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace kvplan {

void prefer_large_pages(void* data, std::size_t bytes) {
  constexpr std::uintptr_t kLarge = std::uintptr_t{1} << 21;
  // Only whole large pages inside the bytes, and only if they are most of them: neighbours are not affected.
  if (bytes < 2 * kLarge) return;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = (address + kLarge - 1) / kLarge * kLarge;
  const std::uintptr_t end = (address + bytes) / kLarge * kLarge;
  if (begin >= end) return;
#ifdef MADV_HUGEPAGE
  // An error means that no large pages are available.
  static_cast<void>(::madvise(static_cast<char*>(data) + (begin - address), end - begin, MADV_HUGEPAGE));
#endif
}

}  // namespace kvplan
