// Compaction: the tokens that each KV head keeps are copied together, in their order, into fresh pages of that head
// alone. Row v of reader r goes from where its list says (decode_arguments.h) to
//
//   to_table[to_first[r] + v / P] * P + v % P            pages of the new pools are of one head: P rows each
//
// Bytes: each row read and written once, of keys and of values; list and tables. Nothing is computed: bits are equal.
#pragma once

#include <cstdint>

#include "validator/kernels/decode_arguments.h"

namespace kvplan::validator {

/// One block of threads.
struct GatherPiece {
  std::int32_t reader, begin, end;
};
inline constexpr std::int32_t kGatherTokens = 64;  ///< of a piece, at most

struct GatherArguments {
  const void* k;
  const void* v;
  void* k_to;
  void* v_to;
  const DecodeReader* readers;
  const GatherPiece* pieces;
  const std::int32_t* table;
  const std::int32_t* list;
  const std::int32_t* to_table;
  const std::int32_t* to_first;
  std::int32_t piece_count;
  std::int32_t page_shift, page_rows, head_rows;
  std::int32_t row_bytes;
};

}  // namespace kvplan::validator
