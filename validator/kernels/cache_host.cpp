// Appending, compaction and swapping on the host.
#include <cstring>

#include "simulator/base/threads.h"
#include "validator/kernels/host_launch.h"
#include "validator/kernels/host_vectors.h"

namespace kvplan::validator {
namespace {

constexpr std::int64_t kTokensOfPiece = 64;

template <Stored kFrom, Stored kTo>
KVPLAN_INLINE void append_rows(const std::uint16_t* from, void* to, int size, float inverse) {
  for (int d = 0; d < size; ++d) {
    const std::uint32_t bits = appended_bits(kFrom, kTo, from[d], inverse);
    if constexpr (kTo == Stored::kFp8)
      static_cast<std::uint8_t*>(to)[d] = static_cast<std::uint8_t>(bits);
    else
      static_cast<std::uint16_t*>(to)[d] = static_cast<std::uint16_t>(bits);
  }
}
KVPLAN_CLONES void round_row(const std::uint16_t* from, void* to, int size, float inverse) {
  append_rows<Stored::kBf16, Stored::kFp8>(from, to, size, inverse);
}

void append_row(const AppendArguments& a, const std::uint16_t* from, void* pool, std::int64_t row,
                float inverse) {
  const std::int64_t row_bytes = a.head_size * bytes_of(a.to);
  char* const to = static_cast<char*>(pool) + row * row_bytes;
  if (a.from == a.to)
    std::memcpy(to, from, static_cast<std::size_t>(row_bytes));
  else if (a.from == Stored::kBf16 && a.to == Stored::kFp8)
    round_row(from, to, a.head_size, inverse);
  else
    for (int d = 0; d < a.head_size; ++d) {
      const std::uint32_t bits = appended_bits(a.from, a.to, from[d], inverse);
      std::memcpy(to + d * bytes_of(a.to), &bits, static_cast<std::size_t>(bytes_of(a.to)));
    }
}

}  // namespace

void launch_on_host(const AppendArguments& a, int threads) {
  const std::int64_t pieces = (a.tokens + kTokensOfPiece - 1) / kTokensOfPiece;
  on_threads(threads, static_cast<std::size_t>(pieces), [&](std::size_t piece) {
    const std::int64_t begin = static_cast<std::int64_t>(piece) * kTokensOfPiece;
    for (std::int64_t t = begin; t < std::min(begin + kTokensOfPiece, a.tokens); ++t)
      for (std::int32_t h = 0; h < a.kv_heads && a.rows[t] >= 0; ++h) {
        const std::int64_t from = (t * a.kv_heads + h) * a.head_size;
        const std::int64_t row = a.rows[t] + std::int64_t{h} * a.head_rows;
        append_row(a, a.k_new + from, a.k, row, a.key_inverse);
        append_row(a, a.v_new + from, a.v, row, a.value_inverse);
      }
  });
}

void launch_on_host(const GatherArguments& a, int threads) {
  const std::int32_t in_page = (1 << a.page_shift) - 1;
  on_threads(threads, static_cast<std::size_t>(a.piece_count), [&](std::size_t p) {
    const GatherPiece& piece = a.pieces[p];
    const DecodeReader& reader = a.readers[piece.reader];
    for (std::int32_t v = piece.begin; v < piece.end; ++v) {
      const std::int32_t place = a.list[reader.first + v];
      const std::int64_t page = a.table[reader.table + (place >> a.page_shift)];
      const std::int64_t from =
          page * a.page_rows + std::int64_t{reader.kv_head} * a.head_rows + (place & in_page);
      const std::int64_t to_page = a.to_table[a.to_first[piece.reader] + (v >> a.page_shift)];
      const std::int64_t to = (to_page << a.page_shift) + (v & in_page);
      const auto bytes = static_cast<std::size_t>(a.row_bytes);
      std::memcpy(static_cast<char*>(a.k_to) + to * a.row_bytes,
                  static_cast<const char*>(a.k) + from * a.row_bytes, bytes);
      std::memcpy(static_cast<char*>(a.v_to) + to * a.row_bytes,
                  static_cast<const char*>(a.v) + from * a.row_bytes, bytes);
    }
  });
}

/// On the host, all copy paths are the same copies.
void launch_on_host(const SwapArguments& a, int threads) {
  const std::int64_t each = std::max<std::int64_t>(1, (std::int64_t{1} << 18) / a.bytes);
  on_threads(threads, static_cast<std::size_t>((a.count + each - 1) / each), [&](std::size_t piece) {
    const std::int64_t begin = static_cast<std::int64_t>(piece) * each;
    for (std::int64_t i = begin; i < std::min(begin + each, a.count); ++i) {
      char* const device = a.device + a.places[i].on_device;
      char* const host = a.host + a.places[i].on_host;
      const bool in = a.direction == CopyDirection::kIn;
      std::memcpy(in ? device : host, in ? host : device, static_cast<std::size_t>(a.bytes));
    }
  });
}

}  // namespace kvplan::validator
