// The loops of kernels.h, written once. kernels.cpp compiles each of them twice, for two instruction sets.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "simulator/attention/kernels.h"

namespace kvplan::attention::kernel_bodies {

// Four doubles: one AVX register, or two registers of any x86-64 or ARMv8. Each loop is compiled for both; IEEE
// arithmetic in the same order gives the same bits, and AVX divides twice as fast.
using Quad = double __attribute__((vector_size(32)));
using QuadFloat = float __attribute__((vector_size(16)));
using QuadWords = std::uint64_t __attribute__((vector_size(32)));

#if defined(__x86_64__)
#define KVPLAN_WIDE __attribute__((target("avx2")))
inline bool wide_registers() {
  static const bool kHas = __builtin_cpu_supports("avx2") != 0;
  return kHas;
}
#else
#define KVPLAN_WIDE
inline bool wide_registers() {
  return false;
}
#endif
#define KVPLAN_BODY [[gnu::always_inline]] inline

// Vectors travel by reference: by value their calling convention depends on the instruction set.
KVPLAN_BODY void load(const double* from, Quad& quad) {
  std::memcpy(&quad, from, sizeof(quad));
}
KVPLAN_BODY void store(double* to, const Quad& quad) {
  std::memcpy(to, &quad, sizeof(quad));
}

/// Eight running sums, in the order that kernels.h defines.
struct Lanes {
  Quad low{};
  Quad high{};
  KVPLAN_BODY void add(const Quad& a, const Quad& b) {
    low += a;
    high += b;
  }
  KVPLAN_BODY void add_to_lane(std::size_t i, double x) {
    if (i < 4) {
      low[i] += x;
    } else {
      high[i - 4] += x;
    }
  }
  [[nodiscard]] KVPLAN_BODY double total() const {
    return ((low[0] + low[1]) + (low[2] + low[3])) + ((high[0] + high[1]) + (high[2] + high[3]));
  }
};

KVPLAN_BODY void pick(const double* row, const std::int32_t* p, Quad& quad) {
  quad = Quad{row[p[0]], row[p[1]], row[p[2]], row[p[3]]};
}
KVPLAN_BODY void pick(const float* row, const std::int32_t* p, Quad& quad) {
  const QuadFloat narrow{row[p[0]], row[p[1]], row[p[2]], row[p[3]]};
  quad = __builtin_convertvector(narrow, Quad);
}

/// Loads four neighbouring numbers.
KVPLAN_BODY void widen(const double* from, Quad& quad) {
  std::memcpy(&quad, from, sizeof(quad));
}
KVPLAN_BODY void widen(const float* from, Quad& quad) {
  QuadFloat narrow;
  std::memcpy(&narrow, from, sizeof(narrow));
  quad = __builtin_convertvector(narrow, Quad);
}

template <class T>
KVPLAN_BODY double gather_body(const T* row, std::span<const std::int32_t> positions, double* w) {
  const std::size_t n = positions.size();
  const std::int32_t* p = positions.data();
  const std::size_t gaps = consecutive_from(positions);
  Lanes lanes;
  std::size_t i = 0;
  for (; i < gaps && i + 8 <= n; i += 8) {
    Quad a;
    Quad b;
    pick(row, p + i, a);
    pick(row, p + i + 4, b);
    store(w + i, a);
    store(w + i + 4, b);
    lanes.add(a, b);
  }
  // From this index on positions are consecutive, so they need no lookup.
  for (const T* from = row + (i < n ? p[i] : 0); i + 8 <= n; i += 8, from += 8) {
    Quad a;
    Quad b;
    widen(from, a);
    widen(from + 4, b);
    store(w + i, a);
    store(w + i + 4, b);
    lanes.add(a, b);
  }
  for (std::size_t lane = 0; i < n; ++i, ++lane) {
    w[i] = static_cast<double>(row[p[i]]);
    lanes.add_to_lane(lane, w[i]);
  }
  return lanes.total();
}

KVPLAN_BODY double sum_body(std::span<const double> values) {
  const std::size_t n = values.size();
  const double* v = values.data();
  Lanes lanes;
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    Quad a;
    Quad b;
    load(v + i, a);
    load(v + i + 4, b);
    lanes.add(a, b);
  }
  for (std::size_t lane = 0; i < n; ++i, ++lane) lanes.add_to_lane(lane, v[i]);
  return lanes.total();
}

/// score[i] += value[i] / divisor over [begin, end).
KVPLAN_BODY void accumulate_body(const double* value, double divisor, double* score, std::size_t begin,
                                 std::size_t end) {
  const Quad d{divisor, divisor, divisor, divisor};
  std::size_t i = begin;
  for (; i + 4 <= end; i += 4) {
    Quad s;
    Quad v;
    load(score + i, s);
    load(value + i, v);
    s += v / d;
    store(score + i, s);
  }
  for (; i < end; ++i) score[i] += value[i] / divisor;
}

/// As accumulate_body over [0, n); returns the lowest score afterwards. REQUIRES: n > 0.
KVPLAN_BODY double accumulate_least_body(const double* value, double divisor, double* score, std::size_t n) {
  const Quad d{divisor, divisor, divisor, divisor};
  const double first = score[0] + value[0] / divisor;
  Quad least{first, first, first, first};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    Quad s;
    Quad v;
    load(score + i, s);
    load(value + i, v);
    s += v / d;
    store(score + i, s);
    least = s < least ? s : least;
  }
  double out = std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
  for (; i < n; ++i) {
    score[i] += value[i] / divisor;
    out = std::min(out, score[i]);
  }
  return out;
}

KVPLAN_BODY double extreme_body(std::span<const double> values, bool greatest) {
  const double* v = values.data();
  const std::size_t n = values.size();
  Quad best{v[0], v[0], v[0], v[0]};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    Quad a;
    load(v + i, a);
    best = (greatest ? a > best : a < best) ? a : best;
  }
  const auto better = [greatest](double a, double b) { return greatest ? std::max(a, b) : std::min(a, b); };
  double out = better(better(best[0], best[1]), better(best[2], best[3]));
  for (; i < n; ++i) out = better(out, v[i]);
  return out;
}

/// e^x per lane, x -> x; see fixed_exp.
KVPLAN_BODY void exp_quad(Quad& x) {
  constexpr double kLog2E = 1.4426950408889634;
  constexpr double kLn2High = 0x1.62e42fefa3800p-1;  // 42 bits: k * kLn2High is exact for |k| < 2^11
  constexpr double kLn2Low = 0x1.ef35793c76730p-45;
  constexpr double kRound = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  const Quad shifted = x * kLog2E + kRound;
  const Quad k = shifted - kRound;
  const Quad r = (x - k * kLn2High) - k * kLn2Low;  // |r| <= 0.3466
  // Taylor to degree 13: the first term left out is below 5e-18.
  Quad p = r * (1.0 / 6227020800.0) + (1.0 / 479001600.0);
  p = p * r + (1.0 / 39916800.0);
  p = p * r + (1.0 / 3628800.0);
  p = p * r + (1.0 / 362880.0);
  p = p * r + (1.0 / 40320.0);
  p = p * r + (1.0 / 5040.0);
  p = p * r + (1.0 / 720.0);
  p = p * r + (1.0 / 120.0);
  p = p * r + (1.0 / 24.0);
  p = p * r + (1.0 / 6.0);
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  QuadWords bits;
  QuadWords exponent;
  std::memcpy(&bits, &p, sizeof(bits));
  std::memcpy(&exponent, &shifted, sizeof(exponent));
  const QuadWords scaled = bits + (exponent << 52);
  Quad result;
  std::memcpy(&result, &scaled, sizeof(result));
  const Quad zero{};
  x = x < zero - 708.0 ? zero : result;
}

KVPLAN_BODY void exp_body(std::span<double> values, double most) {
  double* v = values.data();
  const std::size_t n = values.size();
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    Quad x;
    load(v + i, x);
    x -= most;
    exp_quad(x);
    store(v + i, x);
  }
  for (; i < n; ++i) {
    Quad x{v[i] - most};
    exp_quad(x);
    v[i] = x[0];
  }
}

/// The first position of `wanted`, which must be in `values`. Compares sixteen values at once, then one by one where
/// one of the sixteen matches.
KVPLAN_BODY std::int32_t first_equal_body(const double* values, std::size_t n, double wanted) {
  const Quad w{wanted, wanted, wanted, wanted};
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    Quad a;
    Quad b;
    Quad c;
    Quad d;
    load(values + i, a);
    load(values + i + 4, b);
    load(values + i + 8, c);
    load(values + i + 12, d);
    const auto any = ((a == w) | (b == w)) | ((c == w) | (d == w));
    if (((any[0] | any[1]) | (any[2] | any[3])) != 0) break;
  }
  while (values[i] != wanted) ++i;
  return static_cast<std::int32_t>(i);
}

/// The sums of eight tokens for one query.
struct EightSums {
  Quad low{};
  Quad high{};
  KVPLAN_BODY void add(const Quad& a, const Quad& b, double x) {
    low += a * x;
    high += b * x;
  }
  KVPLAN_BODY void store_to(double* out) const {
    store(out, low);
    store(out + 4, high);
  }
};

/// The sums of four queries by eight tokens stay in registers.
KVPLAN_BODY void products_body(const double* keys, const double* queries, std::size_t size, std::size_t count,
                               double* sums) {
  for (std::size_t i = 0; i < kScoredTokens; i += kPackedTokens)
    for (std::size_t q = 0; q < count; q += 4) {
      EightSums first;
      EightSums second;
      EightSums third;
      EightSums fourth;
      const double* key = keys + i * size;
      const double* x = queries + q;
      for (std::size_t c = 0; c < size; ++c, key += kPackedTokens, x += kScoredQueries) {
        Quad a;
        Quad b;
        load(key, a);
        load(key + 4, b);
        first.add(a, b, x[0]);
        second.add(a, b, x[1]);
        third.add(a, b, x[2]);
        fourth.add(a, b, x[3]);
      }
      double* out = sums + q * kScoredTokens + i;
      first.store_to(out);
      second.store_to(out + kScoredTokens);
      third.store_to(out + 2 * kScoredTokens);
      fourth.store_to(out + 3 * kScoredTokens);
    }
}

KVPLAN_BODY void pack_body(const float* keys, std::size_t stride, std::size_t size, double* packed) {
  for (std::size_t i = 0; i < kScoredTokens; i += kPackedTokens)
    for (std::size_t c = 0; c < size; ++c, packed += kPackedTokens)
      for (std::size_t k = 0; k < kPackedTokens; k += 4) {
        Quad four;
        widen(keys + c * stride + i + k, four);
        store(packed + k, four);
      }
}

}  // namespace kvplan::attention::kernel_bodies
