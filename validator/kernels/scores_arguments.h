// Scores of tokens as in H2O-type policies, and the tokens with the largest scores.
//
//   accumulate: acc[first + v] += sum over the group's heads g, in their order, of 2^(logit[g][v] - lse[g])
//               logits and lse as decode attention writes them, base 2 (decode_arguments.h). One thread per token: no
//               atomics, the same bits each time. The sums are fp32, because an fp16 sum over many steps stops
//               growing
//   top-k:      the `budget` tokens of a row with the largest scores, ties to the earlier token; the result is
//               ascending, padded with -1 if the row is shorter. Exact: scores are compared as ordered bits
//
// Zhang et al. 2023 (H2O). Bytes: logits read, accumulators read and written; scores read, results written.
#pragma once

#include <bit>
#include <cstdint>

#include "validator/kernels/numbers.h"

namespace kvplan::validator {

/// One (sequence, KV head).
struct ScoreRow {
  std::int64_t first;  ///< index of its first accumulator
  std::int32_t tokens;
  std::int32_t head;  ///< sequence * query_heads + kv_head * group
};

struct AccumulateArguments {
  const float* logits;  ///< [sequences * query_heads][stride]
  const float* lse;
  float* acc;
  const ScoreRow* rows;
  std::int64_t stride;
  std::int32_t row_count, group, most_tokens;
};

struct TopKArguments {
  const float* scores;
  const ScoreRow* rows;
  std::int32_t* kept;  ///< [rows][budget]
  std::int32_t row_count, budget;
};

/// Unsigned numbers in the order of the floats, -0 before 0. Scores are never NaN.
KVPLAN_BOTH inline std::uint32_t in_order(float x) {
  const std::uint32_t bits = float_bits(x);
  return (bits >> 31) != 0 ? ~bits : bits | 0x8000'0000U;
}

}  // namespace kvplan::validator
