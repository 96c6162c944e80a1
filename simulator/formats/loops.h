// Inner loops in pieces of eight, which compilers vectorise by themselves. Each sum has one fixed order, so any
// vector width gives the same bits. Output arrays overlap no other array.
#pragma once

#include <cstddef>
#include <cstring>

namespace kvplan::formats {

inline constexpr std::size_t kPiece = 8;

/// y[i] += factor * x[i].
template <class Number>
inline void add_scaled(double factor, const Number* __restrict x, double* __restrict y, std::size_t count) {
  std::size_t i = 0;
  for (; i + kPiece <= count; i += kPiece)
    for (std::size_t k = 0; k < kPiece; ++k) y[i + k] += factor * static_cast<double>(x[i + k]);
  for (; i < count; ++i) y[i] += factor * static_cast<double>(x[i]);
}

/// y[i] -= a * p[i] + b * q[i].
inline void subtract_two(double a, const double* __restrict p, double b, const double* __restrict q,
                         double* __restrict y, std::size_t count) {
  std::size_t i = 0;
  for (; i + kPiece <= count; i += kPiece)
    for (std::size_t k = 0; k < kPiece; ++k) y[i + k] -= a * p[i + k] + b * q[i + k];
  for (; i < count; ++i) y[i] -= a * p[i] + b * q[i];
}

/// Rotates pairs: (x, y) becomes (cosine x - sine y, sine x + cosine y), index by index.
inline void rotate(double cosine, double sine, double* __restrict x, double* __restrict y,
                   std::size_t count) {
  const auto at = [&](std::size_t i) {
    const double old = x[i];
    x[i] = cosine * old - sine * y[i];
    y[i] = sine * old + cosine * y[i];
  };
  std::size_t i = 0;
  for (; i + kPiece <= count; i += kPiece)
    for (std::size_t k = 0; k < kPiece; ++k) at(i + k);
  for (; i < count; ++i) at(i);
}

/// The sum of a[i] * b[i]: eight running sums (i mod 8), then ((0+1)+(2+3)) + ((4+5)+(6+7)).
inline double dot(const double* a, const double* b, std::size_t count) {
  using Quad = double __attribute__((vector_size(32)));
  Quad low{};
  Quad high{};
  const auto load = [](const double* from, Quad& to) { std::memcpy(&to, from, sizeof(to)); };
  std::size_t i = 0;
  for (; i + kPiece <= count; i += kPiece) {
    Quad x;
    Quad y;
    load(a + i, x);
    load(b + i, y);
    low += x * y;
    load(a + i + 4, x);
    load(b + i + 4, y);
    high += x * y;
  }
  for (std::size_t k = 0; i < count; ++i, ++k) {
    if (k < 4) {
      low[k] += a[i] * b[i];
    } else {
      high[k - 4] += a[i] * b[i];
    }
  }
  return ((low[0] + low[1]) + (low[2] + low[3])) + ((high[0] + high[1]) + (high[2] + high[3]));
}

}  // namespace kvplan::formats
