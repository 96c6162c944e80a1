// For the host versions only: marks functions to be compiled for several kinds of registers, and loops that compilers
// can vectorise without being allowed to reorder sums.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "validator/kernels/numbers.h"

// With the thread sanitizer, the function that chooses the version is called before the sanitizer is ready.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define KVPLAN_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define KVPLAN_CLONES
#endif
#define KVPLAN_INLINE inline __attribute__((always_inline))

namespace kvplan::validator {

inline constexpr int kLanes = 16;

/// A row of stored numbers as floats.
template <Stored kStored>
KVPLAN_INLINE void load_row(float* to, const void* from, int size) {
  const auto* bytes = static_cast<const std::uint8_t*>(from);
  const auto* words = static_cast<const std::uint16_t*>(from);
  for (int d = 0; d < size; ++d) {
    if constexpr (kStored == Stored::kFp8)
      to[d] = fp8_value(bytes[d]);
    else if constexpr (kStored == Stored::kBf16)
      to[d] = bf16_value(words[d]);
    else
      to[d] = fp16_value(words[d]);
  }
}

/// Dot product in a fixed order: 16 partial sums side by side, then their sum.
KVPLAN_INLINE float dot_row(const float* a, const float* b, int size) {
  float lanes[kLanes] = {};
  for (int d = 0; d < size; d += kLanes)
    for (int i = 0; i < kLanes; ++i) lanes[i] += a[d + i] * b[d + i];
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

/// 2^x for x <= 0, relative error about 2e-7; 0 below -126. Cephes' polynomial for exp2f (Moshier 1989).
KVPLAN_INLINE float power_of_two(float x) {
  const float bounded = x < -126.0F ? -126.0F : x;
  const float whole = static_cast<float>(static_cast<std::int32_t>(bounded - 0.5F));
  const float f = bounded - whole;
  float p = 1.535336188319500E-4F;
  p = p * f + 1.339887440266574E-3F;
  p = p * f + 9.618437357674640E-3F;
  p = p * f + 5.550332471162809E-2F;
  p = p * f + 2.402264791363012E-1F;
  p = p * f + 6.931472028550421E-1F;
  p = p * f + 1.0F;
  const float scale = float_of_bits(static_cast<std::uint32_t>(static_cast<std::int32_t>(whole) + 127) << 23);
  return x < -126.0F ? 0.0F : p * scale;
}

}  // namespace kvplan::validator
