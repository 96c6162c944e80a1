// Appending to a paged cache: new keys and values of all heads are written to their slots, rounded if the cache stores
// fewer bits.
//
//   k_new, v_new  [tokens][kv_heads][D] of 16-bit numbers (`from`)
//   rows          for each token, its row for head 0 (decode_arguments.h); head h is h * head_rows after it. Below 0:
//                 no token (engines pad batches), and nothing is written
//   stored        bits_of(to, x) if `to` is `from`; for fp8 fp8_bits(x * inverse), inverse = 1 / scale rounded once
//
// The same as vLLM's reshape_and_cache_flash (csrc/cache_kernels.cu, v0.11). Bytes: numbers read and written, rows.
#pragma once

#include <cstdint>

#include "validator/kernels/numbers.h"

namespace kvplan::validator {

struct AppendArguments {
  const std::uint16_t* k_new;
  const std::uint16_t* v_new;
  const std::int32_t* rows;
  void* k;
  void* v;
  std::int64_t tokens;
  std::int32_t kv_heads, head_size, head_rows;
  Stored from, to;
  float key_inverse, value_inverse;
};

/// Converts one number for the cache.
KVPLAN_BOTH inline std::uint32_t appended_bits(Stored from, Stored to, std::uint16_t bits, float inverse) {
  return from == to ? bits : bits_of(to, value_of(from, bits) * inverse);
}

}  // namespace kvplan::validator
