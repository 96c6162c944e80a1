#include "simulator/attention/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "simulator/attention/kernel_bodies.h"
#include "simulator/base/check.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kvplan::attention {
namespace {

using namespace kernel_bodies;

// The two compilations of each loop.
template <class T>
KVPLAN_WIDE double gather_wide(const T* row, std::span<const std::int32_t> positions, double* w) {
  return gather_body(row, positions, w);
}
KVPLAN_WIDE double sum_wide(std::span<const double> values) {
  return sum_body(values);
}
KVPLAN_WIDE void accumulate_wide(const double* value, double divisor, double* score, std::size_t begin,
                                 std::size_t end) {
  accumulate_body(value, divisor, score, begin, end);
}
KVPLAN_WIDE double accumulate_least_wide(const double* value, double divisor, double* score, std::size_t n) {
  return accumulate_least_body(value, divisor, score, n);
}
KVPLAN_WIDE std::int32_t first_equal_wide(const double* values, std::size_t n, double wanted) {
  return first_equal_body(values, n, wanted);
}
KVPLAN_WIDE void exp_wide(std::span<double> values, double most) {
  exp_body(values, most);
}

KVPLAN_WIDE void pack_wide(const float* keys, std::size_t stride, std::size_t size, double* packed) {
  pack_body(keys, stride, size, packed);
}
KVPLAN_WIDE void products_wide(const double* keys, const double* queries, std::size_t size, std::size_t count,
                               double* sums) {
  products_body(keys, queries, size, count, sums);
}

/// Sixteen sums stay in registers, over all rows.
template <class Number>
KVPLAN_BODY void add_weighted_body(const double* weights, const Number* const* rows, std::size_t count,
                                   double* out, std::size_t size) {
  constexpr std::size_t kAtOnce = 16;
  std::size_t c = 0;
  for (; c + kAtOnce <= size; c += kAtOnce) {
    Quad first;
    Quad second;
    Quad third;
    Quad fourth;
    load(out + c, first);
    load(out + c + 4, second);
    load(out + c + 8, third);
    load(out + c + 12, fourth);
    for (std::size_t i = 0; i < count; ++i) {
      const Number* const row = rows[i] + c;
      Quad x;
      widen(row, x);
      first += weights[i] * x;
      widen(row + 4, x);
      second += weights[i] * x;
      widen(row + 8, x);
      third += weights[i] * x;
      widen(row + 12, x);
      fourth += weights[i] * x;
    }
    store(out + c, first);
    store(out + c + 4, second);
    store(out + c + 8, third);
    store(out + c + 12, fourth);
  }
  for (; c < size; ++c) {
    double sum = out[c];
    for (std::size_t i = 0; i < count; ++i) sum += weights[i] * static_cast<double>(rows[i][c]);
    out[c] = sum;
  }
}
template <class Number>
KVPLAN_WIDE void add_weighted_wide(const double* weights, const Number* const* rows, std::size_t count,
                                   double* out, std::size_t size) {
  add_weighted_body(weights, rows, count, out, size);
}
template <class Number>
void add_weighted_rows(std::span<const double> weights, std::span<const Number* const> rows,
                       std::span<double> out) {
  if (wide_registers())
    return add_weighted_wide(weights.data(), rows.data(), rows.size(), out.data(), out.size());
  add_weighted_body(weights.data(), rows.data(), rows.size(), out.data(), out.size());
}

#if defined(__x86_64__)
bool fused_products() {
  static const bool kHas = wide_registers() && __builtin_cpu_supports("fma") != 0;
  return kHas;
}
/// As products_body, with intrinsics of this instruction set.
__attribute__((target("avx2,fma"))) void products_fused(const double* keys, const double* queries,
                                                        std::size_t size, std::size_t count, double* sums) {
  for (std::size_t i = 0; i < kScoredTokens; i += kPackedTokens)
    for (std::size_t q = 0; q < count; q += 4) {
      // Written out, because an array of sums would not stay in registers.
      __m256d low0{}, high0{}, low1{}, high1{}, low2{}, high2{}, low3{}, high3{};
      const double* key = keys + i * size;
      const double* x = queries + q;
      for (std::size_t c = 0; c < size; ++c, key += kPackedTokens, x += kScoredQueries) {
        const __m256d low = _mm256_loadu_pd(key);
        const __m256d high = _mm256_loadu_pd(key + 4);
        const __m256d x0 = _mm256_broadcast_sd(x);
        low0 = _mm256_fmadd_pd(low, x0, low0);
        high0 = _mm256_fmadd_pd(high, x0, high0);
        const __m256d x1 = _mm256_broadcast_sd(x + 1);
        low1 = _mm256_fmadd_pd(low, x1, low1);
        high1 = _mm256_fmadd_pd(high, x1, high1);
        const __m256d x2 = _mm256_broadcast_sd(x + 2);
        low2 = _mm256_fmadd_pd(low, x2, low2);
        high2 = _mm256_fmadd_pd(high, x2, high2);
        const __m256d x3 = _mm256_broadcast_sd(x + 3);
        low3 = _mm256_fmadd_pd(low, x3, low3);
        high3 = _mm256_fmadd_pd(high, x3, high3);
      }
      double* out = sums + q * kScoredTokens + i;
      _mm256_storeu_pd(out, low0);
      _mm256_storeu_pd(out + 4, high0);
      out += kScoredTokens;
      _mm256_storeu_pd(out, low1);
      _mm256_storeu_pd(out + 4, high1);
      out += kScoredTokens;
      _mm256_storeu_pd(out, low2);
      _mm256_storeu_pd(out + 4, high2);
      out += kScoredTokens;
      _mm256_storeu_pd(out, low3);
      _mm256_storeu_pd(out + 4, high3);
    }
}
#endif

std::int32_t first_equal(const double* values, std::size_t n, double wanted) {
  return wide_registers() ? first_equal_wide(values, n, wanted) : first_equal_body(values, n, wanted);
}

}  // namespace

std::size_t consecutive_from(std::span<const std::int32_t> positions) {
  std::size_t begin = 0;
  std::size_t end = positions.empty() ? 0 : positions.size() - 1;  // the last one is its own neighbour
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    const auto behind = static_cast<std::int64_t>(positions.size() - 1 - middle);
    if (positions.back() - positions[middle] == behind) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return end;
}

double gather(const double* row, std::span<const std::int32_t> positions, std::span<double> out) {
  return wide_registers() ? gather_wide(row, positions, out.data()) : gather_body(row, positions, out.data());
}
double gather(const float* row, std::span<const std::int32_t> positions, std::span<double> out) {
  return wide_registers() ? gather_wide(row, positions, out.data()) : gather_body(row, positions, out.data());
}

double sum_in_lanes(std::span<const double> values) {
  return wide_registers() ? sum_wide(values) : sum_body(values);
}

void accumulate(std::span<const double> value, double divisor, std::span<double> score) {
  if (wide_registers()) return accumulate_wide(value.data(), divisor, score.data(), 0, score.size());
  accumulate_body(value.data(), divisor, score.data(), 0, score.size());
}

std::int32_t accumulate_and_find_lowest(std::span<const double> value, double divisor,
                                        std::span<double> score, std::int32_t candidates) {
  const auto n = static_cast<std::size_t>(candidates);
  KVPLAN_CHECK(n > 0 && n <= score.size(), candidates);
  const bool wide = wide_registers();
  const double least = wide ? accumulate_least_wide(value.data(), divisor, score.data(), n)
                            : accumulate_least_body(value.data(), divisor, score.data(), n);
  if (wide) {
    accumulate_wide(value.data(), divisor, score.data(), n, score.size());
  } else {
    accumulate_body(value.data(), divisor, score.data(), n, score.size());
  }
  return first_equal(score.data(), n, least);
}

void assign_scaled(std::span<const double> value, double divisor, std::span<double> score) {
  for (std::size_t i = 0; i < score.size(); ++i) score[i] = value[i] / divisor;
}

std::int32_t first_lowest(std::span<const double> values) {
  KVPLAN_CHECK(!values.empty());
  return first_equal(values.data(), values.size(), extreme_body(values, false));
}

double fixed_exp(double x) {
  exp_body({&x, 1}, 0.0);
  return x;
}

double fixed_log(double x) {
  if (x <= 0) return -std::numeric_limits<double>::infinity();
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact; [0.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  // ln m = 2 artanh(s), |s| <= 0.1716: the first term left out is below 1e-17 of the sum.
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  double p = 0;
  for (int odd = 21; odd >= 3; odd -= 2) p = p * z + 1.0 / odd;
  const double ln_m = 2 * s + 2 * s * (z * p);
  constexpr double kLn2High = 0x1.62e42fefa3800p-1;
  constexpr double kLn2Low = 0x1.ef35793c76730p-45;
  return exponent * kLn2High + (ln_m + exponent * kLn2Low);
}

double exp_from_max(std::span<double> values) {
  KVPLAN_CHECK(!values.empty());
  const double most = extreme_body(values, true);
  if (wide_registers()) {
    exp_wide(values, most);
  } else {
    exp_body(values, most);
  }
  return sum_in_lanes(values);
}

void pack_keys(const float* keys, std::size_t stride, std::size_t size, std::span<double> packed) {
  KVPLAN_CHECK(packed.size() >= size * kScoredTokens);
  if (wide_registers()) return pack_wide(keys, stride, size, packed.data());
  pack_body(keys, stride, size, packed.data());
}

void sum_products(std::span<const double> keys, const double* queries, std::size_t size, std::size_t count,
                  std::span<double, kScoredQueries * kScoredTokens> sums) {
#if defined(__x86_64__)
  if (fused_products()) return products_fused(keys.data(), queries, size, count, sums.data());
#endif
  sum_rounded_products(keys, queries, size, count, sums);
}

void sum_rounded_products(std::span<const double> keys, const double* queries, std::size_t size,
                          std::size_t count, std::span<double, kScoredQueries * kScoredTokens> sums) {
  if (wide_registers()) return products_wide(keys.data(), queries, size, count, sums.data());
  products_body(keys.data(), queries, size, count, sums.data());
}

void add_weighted(std::span<const double> weights, std::span<const float* const> rows,
                  std::span<double> out) {
  add_weighted_rows(weights, rows, out);
}
void add_weighted(std::span<const double> weights, std::span<const double* const> rows,
                  std::span<double> out) {
  add_weighted_rows(weights, rows, out);
}

}  // namespace kvplan::attention
