// Compaction: the kept tokens of each KV head are copied, in their order, into new pages of that head alone. Row v of
// reader r is copied from the position in its list (decode_arguments.h) to
//
//   to_table[to_first[r] + v / P] * P + v % P            pages of the new pools belong to one head: P rows each
//
// Bytes: each row of keys and values read and written once; list and tables. Nothing is computed, so bits are equal.
#pragma once

#include <cstdint>

#include "validator/kernels/decode_arguments.h"

namespace kvplan::validator {

/// The work of one thread block.
struct GatherPiece {
  std::int32_t reader, begin, end;
};
inline constexpr std::int32_t kGatherTokens = 64;  ///< most rows of a piece

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
