#include "simulator/attention/kernels.h"

#include <algorithm>
#include <cstring>

#include "simulator/base/check.h"

namespace kvplan::attention {
namespace {

// Two doubles: what every x86-64 and every ARMv8 has. Wider registers bring nothing once the arrays leave the
// first cache, and one width keeps the order of additions in plain sight.
using Pair = double __attribute__((vector_size(16)));
using PairBits = std::int64_t __attribute__((vector_size(16)));

Pair load(const double* from) {
  Pair pair;
  std::memcpy(&pair, from, sizeof(pair));
  return pair;
}
void store(double* to, Pair pair) {
  std::memcpy(to, &pair, sizeof(pair));
}

/// Eight running sums, as kernels.h promises.
struct Lanes {
  Pair lane[4]{};
  void add(Pair a, Pair b, Pair c, Pair d) {
    lane[0] += a;
    lane[1] += b;
    lane[2] += c;
    lane[3] += d;
  }
  void add_to_lane(std::size_t i, double x) { lane[i / 2][static_cast<int>(i % 2)] += x; }
  [[nodiscard]] double total() const {
    const double low = (lane[0][0] + lane[0][1]) + (lane[1][0] + lane[1][1]);
    const double high = (lane[2][0] + lane[2][1]) + (lane[3][0] + lane[3][1]);
    return low + high;
  }
};

template <class T>
double gather_any(const T* row, std::span<const std::int32_t> positions, std::span<double> out) {
  const std::size_t n = positions.size();
  const std::int32_t* p = positions.data();
  double* w = out.data();
  Lanes lanes;
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const Pair a{static_cast<double>(row[p[i]]), static_cast<double>(row[p[i + 1]])};
    const Pair b{static_cast<double>(row[p[i + 2]]), static_cast<double>(row[p[i + 3]])};
    const Pair c{static_cast<double>(row[p[i + 4]]), static_cast<double>(row[p[i + 5]])};
    const Pair d{static_cast<double>(row[p[i + 6]]), static_cast<double>(row[p[i + 7]])};
    store(w + i, a);
    store(w + i + 2, b);
    store(w + i + 4, c);
    store(w + i + 6, d);
    lanes.add(a, b, c, d);
  }
  for (std::size_t lane = 0; i < n; ++i, ++lane) {
    w[i] = static_cast<double>(row[p[i]]);
    lanes.add_to_lane(lane, w[i]);
  }
  return lanes.total();
}

Pair smaller(Pair a, Pair b) {
  return a < b ? a : b;
}

/// e^x per lane; see fixed_exp.
Pair exp_pair(Pair x) {
  constexpr double kLog2E = 1.4426950408889634;
  constexpr double kLn2High = 0x1.62e42fefa3800p-1;  // 42 bits: k * kLn2High is exact for |k| < 2^11
  constexpr double kLn2Low = 0x1.ef35793c76730p-45;
  constexpr double kRound = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  const Pair shifted = x * kLog2E + kRound;
  const Pair k = shifted - kRound;
  const Pair r = (x - k * kLn2High) - k * kLn2Low;  // |r| <= 0.3466
  // Taylor to degree 13: the first term left out is below 5e-18.
  Pair p = r * (1.0 / 6227020800.0) + (1.0 / 479001600.0);
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
  PairBits bits;
  PairBits exponent;
  std::memcpy(&bits, &p, sizeof(bits));
  std::memcpy(&exponent, &shifted, sizeof(exponent));
  // Unsigned, since the shift is meant to lose the high bits.
  using PairWords = std::uint64_t __attribute__((vector_size(16)));
  const PairWords scaled = PairWords(bits) + (PairWords(exponent) << 52);
  Pair result;
  std::memcpy(&result, &scaled, sizeof(result));
  const Pair zero{0.0, 0.0};
  const Pair least{-708.0, -708.0};
  return x < least ? zero : result;
}

}  // namespace

double gather(const double* row, std::span<const std::int32_t> positions, std::span<double> out) {
  return gather_any(row, positions, out);
}
double gather(const float* row, std::span<const std::int32_t> positions, std::span<double> out) {
  return gather_any(row, positions, out);
}

double sum_in_lanes(std::span<const double> values) {
  const std::size_t n = values.size();
  const double* v = values.data();
  Lanes lanes;
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) lanes.add(load(v + i), load(v + i + 2), load(v + i + 4), load(v + i + 6));
  for (std::size_t lane = 0; i < n; ++i, ++lane) lanes.add_to_lane(lane, v[i]);
  return lanes.total();
}

void accumulate(std::span<const double> value, double divisor, std::span<double> score) {
  const std::size_t n = score.size();
  const Pair d{divisor, divisor};
  std::size_t i = 0;
  for (; i + 2 <= n; i += 2) store(score.data() + i, load(score.data() + i) + load(value.data() + i) / d);
  for (; i < n; ++i) score[i] += value[i] / divisor;
}

std::int32_t accumulate_and_find_lowest(std::span<const double> value, double divisor,
                                        std::span<double> score, std::int32_t candidates) {
  const auto n = static_cast<std::size_t>(candidates);
  KVPLAN_CHECK(n > 0 && n <= score.size(), candidates);
  const double* v = value.data();
  double* s = score.data();
  const Pair d{divisor, divisor};
  double least = s[0] + v[0] / divisor;
  Pair least0{least, least};
  Pair least1 = least0;
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const Pair a = load(s + i) + load(v + i) / d;
    const Pair b = load(s + i + 2) + load(v + i + 2) / d;
    store(s + i, a);
    store(s + i + 2, b);
    least0 = smaller(a, least0);
    least1 = smaller(b, least1);
  }
  least0 = smaller(least0, least1);
  least = std::min(least0[0], least0[1]);
  for (; i < n; ++i) {
    s[i] += v[i] / divisor;
    least = std::min(least, s[i]);
  }
  for (; i < score.size(); ++i) s[i] += v[i] / divisor;
  std::int32_t index = 0;
  while (s[index] != least) ++index;
  return index;
}

void assign_scaled(std::span<const double> value, double divisor, std::span<double> score) {
  for (std::size_t i = 0; i < score.size(); ++i) score[i] = value[i] / divisor;
}

std::int32_t first_lowest(std::span<const double> values) {
  KVPLAN_CHECK(!values.empty());
  const double* v = values.data();
  const std::size_t n = values.size();
  Pair least2{v[0], v[0]};
  std::size_t i = 0;
  for (; i + 2 <= n; i += 2) least2 = smaller(load(v + i), least2);
  double least = std::min(least2[0], least2[1]);
  for (; i < n; ++i) least = std::min(least, v[i]);
  std::int32_t index = 0;
  while (v[index] != least) ++index;
  return index;
}

double fixed_exp(double x) {
  return exp_pair(Pair{x, x})[0];
}

double exp_from_max(std::span<double> values) {
  KVPLAN_CHECK(!values.empty());
  double* v = values.data();
  const std::size_t n = values.size();
  Pair most2{v[0], v[0]};
  std::size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    const Pair a = load(v + i);
    most2 = a > most2 ? a : most2;
  }
  double most = std::max(most2[0], most2[1]);
  for (; i < n; ++i) most = std::max(most, v[i]);
  const Pair top{most, most};
  for (i = 0; i + 2 <= n; i += 2) store(v + i, exp_pair(load(v + i) - top));
  for (; i < n; ++i) v[i] = fixed_exp(v[i] - most);
  return sum_in_lanes(values);
}

}  // namespace kvplan::attention
