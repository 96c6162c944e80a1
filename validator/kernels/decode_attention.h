// Decode attention as a kernel of the catalogue (decode_arguments.h says what it computes, decode_plan.h how it is
// cut).
//
// Case: stored, query_heads, kv_heads, head_size (64, 128), page_tokens (1 to 256), lengths, window and sinks, or
// retained with kept_of_1000; shuffled, peaked, outliers, rule, seed.
//
// Reference: float64 over the stored numbers, token by token from the case's own retained set, without pages, splits or
// online softmax. Tolerance of the relative Frobenius error (gpu-validation, 6.2): fp16 1e-3, bf16 and fp8 5e-3. The
// log-sum-exp, base 2, has to be within 2e-3.
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
/// Large caches under every built rule, to choose the best rule.
std::vector<Case> tuning_cases(const MachineFacts& machine);
Result<std::unique_ptr<Problem>> make_decode_attention(const Case& of, Purpose purpose,
                                                       const MachineFacts& machine);

/// Thread blocks that a machine runs at a time (decode_plan.h).
std::int64_t decode_places(const MachineFacts& machine, std::int32_t variant);

/// By query head: the result and its log-sum-exp, base 2, in float64. Computed by the definition.
struct DecodeReference {
  std::vector<double> rows;  ///< [sequences][query_heads][head_size]
  std::vector<double> lse;   ///< [sequences][query_heads]
};
DecodeReference decode_reference(const Case& of, const DecodeCache& cache,
                                 const std::vector<std::uint16_t>& q_bits);

/// The number type of queries beside a cache of these numbers.
Stored query_numbers(Stored cache);
std::vector<std::uint16_t> made_up_queries(const Case& of);
/// Scales of a cache's numbers: 1 except for fp8.
float key_scale(Stored cache);
float value_scale(Stored cache);

}  // namespace kvplan::validator
