// The cache of a case: the tokens that each KV head keeps, their places in pages, and, if it is to be checked, their
// contents. Shared by kernels that read a paged cache (attention, scores, compaction).
//
// The case alone decides which tokens are kept: with a window, the last `window` tokens and the first `sinks`;
// otherwise each token of each KV head by its own draw, `kept_of_1000` in a thousand. References use `kept`, `k_bits`
// and `v_bits`, which are in token order; kernels see pages. Pages that belong to no sequence, and slots after the last
// token, hold NaN.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"
#include "validator/kernels/decode_arguments.h"
#include "validator/kernels/problem.h"

namespace kvplan::validator {

struct DecodeCache {
  std::vector<DecodeReader> readers;      ///< sequence by sequence, KV head by KV head
  std::vector<std::int64_t> kept_tokens;  ///< number of kept tokens of each reader
  std::vector<std::vector<std::int32_t>>
      kept;  ///< positions of the kept tokens, ascending; empty if all are kept and nothing is checked
  std::vector<std::int32_t> table, list;
  std::vector<std::uint32_t> mask;
  ReadBy read_by{ReadBy::kPlace};
  std::int32_t page_shift{0}, page_rows{0}, head_rows{0};
  std::int64_t pages{0};
  std::int64_t pool_rows{0};  ///< rows of each of the two pools
  // With Purpose::kCheck: reader by reader, token by token of the sequence, D elements each.
  std::vector<std::uint16_t> k_bits, v_bits;
  std::vector<std::int64_t> first_token;  ///< index of each reader's first token in k_bits and v_bits
  std::vector<std::byte> k_pool, v_pool;

  /// Row of the pool that holds position `place` of a reader.
  [[nodiscard]] std::int64_t row_of(const DecodeReader& reader, std::int64_t place) const;
  /// Tokens that the kernel reads, summed over readers; with a mask, all tokens.
  [[nodiscard]] std::int64_t tokens_read() const;
};

/// Errors: shapes that do not fit, with the field.
Result<DecodeCache> make_decode_cache(const Case& of, Purpose purpose);

/// Checks the fields that all kernels over a paged cache use.
Status check_shape(const Case& of);

}  // namespace kvplan::validator
