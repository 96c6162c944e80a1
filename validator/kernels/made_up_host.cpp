#include <algorithm>

#include "simulator/base/threads.h"
#include "validator/kernels/host_launch.h"
#include "validator/kernels/host_vectors.h"

namespace kvplan::validator {
namespace {

constexpr std::int64_t kPiece = 1 << 16;

template <class T>
KVPLAN_INLINE void make_up(T* to, const MadeUp& of, std::int64_t first, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i)
    to[i] = static_cast<T>(made_up_bits(of, static_cast<std::uint64_t>(first + i)));
}
KVPLAN_CLONES void make_up_bytes(std::uint8_t* to, const MadeUp& of, std::int64_t first,
                                 std::int64_t elements) {
  make_up(to, of, first, elements);
}
KVPLAN_CLONES void make_up_words(std::uint16_t* to, const MadeUp& of, std::int64_t first,
                                 std::int64_t elements) {
  make_up(to, of, first, elements);
}

}  // namespace

void make_up_on_host(void* to, const MadeUp& of, std::int64_t first, std::int64_t elements, int threads) {
  on_threads(threads, static_cast<std::size_t>((elements + kPiece - 1) / kPiece), [&](std::size_t piece) {
    const std::int64_t begin = static_cast<std::int64_t>(piece) * kPiece;
    const std::int64_t count = std::min(kPiece, elements - begin);
    if (of.stored == Stored::kFp8)
      make_up_bytes(static_cast<std::uint8_t*>(to) + begin, of, first + begin, count);
    else
      make_up_words(static_cast<std::uint16_t*>(to) + begin, of, first + begin, count);
  });
}

}  // namespace kvplan::validator
