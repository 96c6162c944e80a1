// The inner loops of a replay. The order of additions can change a policy's decisions, since ties and near ties in
// scores decide evictions. So each loop has one fixed order (fixed lanes, fixed reduction tree), the same on every
// instruction set, and the program is built without contraction into fused multiply-adds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvplan::attention {

/// out[i] = row[positions[i]]; returns the sum of out. Order of additions: 8 lanes (lane = i mod 8), each in
/// ascending order, then ((0+1)+(2+3)) + ((4+5)+(6+7)). REQUIRES: out.size() >= positions.size(); positions are
/// inside the row.
double gather(const double* row, std::span<const std::int32_t> positions, std::span<double> out);
double gather(const float* row, std::span<const std::int32_t> positions, std::span<double> out);

/// The least index from which positions are consecutive; 0 if there are none. REQUIRES: ascending.
std::size_t consecutive_from(std::span<const std::int32_t> positions);

/// The sum of `values` in the same order.
double sum_in_lanes(std::span<const double> values);

/// score[i] += value[i] / divisor for all i.
void accumulate(std::span<const double> value, double divisor, std::span<double> score);

/// As accumulate; returns the index of the lowest of score[0, candidates) afterwards, the first among equals, found in
/// the same loop. REQUIRES: 0 < candidates <= score.size().
std::int32_t accumulate_and_find_lowest(std::span<const double> value, double divisor,
                                        std::span<double> score, std::int32_t candidates);

/// score[i] = value[i] / divisor for all i.
void assign_scaled(std::span<const double> value, double divisor, std::span<double> score);

/// Index of the lowest value, the first among equals. REQUIRES: not empty, no NaN.
std::int32_t first_lowest(std::span<const double> values);

/// out[c] += weights[i] * rows[i][c] for all c, in ascending order of i: each c has one running sum. REQUIRES: as
/// many rows as weights, each with at least out.size() numbers, and none of them in `out`.
void add_weighted(std::span<const double> weights, std::span<const float* const> rows, std::span<double> out);
void add_weighted(std::span<const double> weights, std::span<const double* const> rows,
                  std::span<double> out);

/// e^x from plain IEEE operations only, so that every machine gives the same bits (libm does not promise that). For x
/// <= 0; relative error below 3e-16; 0 below -708.
double fixed_exp(double x);

/// Natural logarithm from plain IEEE operations only, like `fixed_exp`. For x > 0 (subnormal too); 0 gives -infinity.
/// Error below 4e-16 of the greater of 1 and the result.
double fixed_log(double x);

/// values[i] = e^(values[i] - max) with `fixed_exp`; returns their sum in the order of `sum_in_lanes`.
/// REQUIRES: not empty; all finite.
double exp_from_max(std::span<double> values);

/// Number of queries that are multiplied at once, so that each key is read once for all of them.
inline constexpr std::size_t kScoredQueries = 8;
inline constexpr std::size_t kScoredTokens = 32;
/// Tokens that lie side by side in packed keys, element by element.
inline constexpr std::size_t kPackedTokens = 8;
/// Packs keys of kScoredTokens tokens, element c of token i at keys[c * stride + i], into the order in which
/// sum_products reads them. REQUIRES: `packed` has kScoredTokens numbers for each c < size.
void pack_keys(const float* keys, std::size_t stride, std::size_t size, std::span<double> packed);
/// sums[kScoredTokens * q + i] = dot product of query q and the key of token i: queries[c * kScoredQueries + q] times
/// element c of token i, summed over c in ascending order from 0, for all tokens i and queries q < count; results of
/// other queries are undefined. A product of two float32 numbers is exact in float64, so fusing it with the addition
/// changes no bit. REQUIRES: 0 < count <= kScoredQueries; `keys` are packed; `queries` has kScoredQueries numbers for
/// each c, all of them float32 numbers.
void sum_products(std::span<const double> keys, const double* queries, std::size_t size, std::size_t count,
                  std::span<double, kScoredQueries * kScoredTokens> sums);
/// Index of element c of token i in packed keys of `size` elements.
constexpr std::size_t packed_at(std::size_t i, std::size_t c, std::size_t size) {
  return i / kPackedTokens * kPackedTokens * size + c * kPackedTokens + i % kPackedTokens;
}
/// As sum_products for any numbers: each product is rounded before it is added.
void sum_rounded_products(std::span<const double> keys, const double* queries, std::size_t size,
                          std::size_t count, std::span<double, kScoredQueries * kScoredTokens> sums);

}  // namespace kvplan::attention
