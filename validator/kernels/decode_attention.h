// Decode attention as a kernel of the catalogue. decode_arguments.h defines the result, decode_plan.h the division into
// pieces.
//
// Case: stored, query_heads, kv_heads, head_size (64, 128), page_tokens (1 to 256), lengths, window and sinks, or
// retained with kept_of_1000; shuffled, peaked, outliers, rule, seed.
//
// Reference: float64 over the stored numbers, token by token from the case's own retained set, without pages, splits or
// online softmax. Tolerances: relative Frobenius error 1e-3 for fp16, 5e-3 for bf16 and fp8; 2e-3 for the log-sum-exp,
// base 2.
//
// Bytes, each counted once: keys and values of all tokens read, queries, results, log-sum-exps, tables (and lists or
// masks), and, with splits, partial results written and read. FLOPs: 4 * head_size for each (query head, token).
#pragma once

#include <memory>

#include "simulator/base/result.h"
#include "validator/kernels/catalogue.h"
#include "validator/kernels/decode_cache.h"

namespace kvplan::validator {

std::vector<Case> decode_attention_cases(CaseSet set, const MachineFacts& machine);
/// Large caches with every compiled rule, to choose the best rule.
std::vector<Case> tuning_cases(const MachineFacts& machine);
Result<std::unique_ptr<Problem>> make_decode_attention(const Case& of, Purpose purpose,
                                                       const MachineFacts& machine);

/// Number of thread blocks that a machine runs at a time (decode_plan.h).
std::int64_t decode_places(const MachineFacts& machine, std::int32_t variant);

/// For each query head: the result and its log-sum-exp, base 2, in float64. Computed from the definition.
struct DecodeReference {
  std::vector<double> rows;  ///< [sequences][query_heads][head_size]
  std::vector<double> lse;   ///< [sequences][query_heads]
};
DecodeReference decode_reference(const Case& of, const DecodeCache& cache,
                                 const std::vector<std::uint16_t>& q_bits);

/// The number type of queries that is used with a cache of this type.
Stored query_numbers(Stored cache);
std::vector<std::uint16_t> made_up_queries(const Case& of);
/// Scales of a cache's numbers: 1 except for fp8.
float key_scale(Stored cache);
float value_scale(Stored cache);

}  // namespace kvplan::validator
