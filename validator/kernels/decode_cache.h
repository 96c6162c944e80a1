// The cache of a case: which tokens each KV head keeps, where they lie in pages, and, to be checked, what is in them.
// Kernels that read a paged cache (attention, scores, compaction) share it.
//
// What is kept is decided here, by the case alone: of a window the last `window` tokens and the first `sinks`; else
// each token of each KV head by a draw of its own, `kept_of_1000` in a thousand. References work from `kept` and from
// `k_bits` and `v_bits`, which are in the order of tokens; kernels see pages. Pages that belong to no sequence, and
// places behind the last token, hold NaN.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"
#include "validator/kernels/decode_arguments.h"
#include "validator/kernels/problem.h"

namespace kvplan::validator {

struct DecodeCache {
  std::vector<DecodeReader> readers;      ///< sequence by sequence, KV head by KV head
  std::vector<std::int64_t> kept_tokens;  ///< of each reader, how many it keeps
  std::vector<std::vector<std::int32_t>>
      kept;  ///< which, ascending; empty where all are kept and nothing is checked
  std::vector<std::int32_t> table, list;
  std::vector<std::uint32_t> mask;
  ReadBy read_by{ReadBy::kPlace};
  std::int32_t page_shift{0}, page_rows{0}, head_rows{0};
  std::int64_t pages{0};
  std::int64_t pool_rows{0};  ///< of each of the two pools
  // Of Purpose::kCheck: reader by reader, token by token of the sequence, D elements each.
  std::vector<std::uint16_t> k_bits, v_bits;
  std::vector<std::int64_t> first_token;  ///< of each reader, in these
  std::vector<std::byte> k_pool, v_pool;

  /// Row of the pool where place `place` of a reader is.
  [[nodiscard]] std::int64_t row_of(const DecodeReader& reader, std::int64_t place) const;
  /// Places that its kernel reads, summed over readers: all of them under a mask.
  [[nodiscard]] std::int64_t tokens_read() const;
};

/// Errors: shapes that do not fit, with the field.
Result<DecodeCache> make_decode_cache(const Case& of, Purpose purpose);

/// Errors of fields that all kernels over a paged cache have in common.
Status check_shape(const Case& of);

}  // namespace kvplan::validator
