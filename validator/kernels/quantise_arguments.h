// Rounding rows of a cache to the formats that servers use, and back. D channels a row, 16-bit numbers `from`.
//
//   format  group                    side data                      code
//   fp8     all                      none (`tensor_scale` is given) e4m3 of x / tensor_scale
//   int8    the D channels of a row  scale fp16 = max|x| / 127      clamp(rint(x / scale), -128, 127)
//   int4    64 channels of a row     scale, zero fp16               clamp(rint((x - zero) / scale), 0, 15)
//   kivi4   by_channel: 32 rows of   scale, zero fp16               as int4
//   kivi2     a channel; else 32                                    0 to 3
//             channels of a row
//   nvfp4   16 channels of a row     e4m3 of max|x| / (6 t),        e2m1 of x / (scale t), t = tensor_scale
//
// zero = fp16(min), scale = fp16((max - min) / largest code); if a scale is 0, all codes are 0. Sources: fp8 of
// vLLM's --kv-cache-dtype fp8; int8 per token and head; KIVI (Liu et al. 2024): keys by channel, values by token,
// groups of 32; NVFP4 (NVIDIA 2025). Codes of one row are adjacent, the lower channel in the lower bits; side data
// are stored row by row, group by group, scale before zero; by channel: [rows / 32][D].
//
// Every operation is one float operation, rounded once (no fused multiply-add, no fast division), so that stored bytes
// are the same on all backends. Bytes: numbers read, codes and side data written; for dequantising the reverse.
#pragma once

#include <cstdint>

#include "validator/kernels/case.h"

namespace kvplan::validator {

struct QuantiseArguments {
  std::uint16_t* numbers;  ///< [rows][D]; read by quantising, written by dequantising
  std::uint8_t* codes;     ///< [rows][D * bits / 8]
  void* side;              ///< fp16; for nvfp4 e4m3
  std::int64_t rows;       ///< by channel: a multiple of 32
  std::int32_t head_size;  ///< D: 64 or 128
  Stored from;
  Format format;
  bool by_channel;
  bool back;  ///< dequantise
  float tensor_scale;
};

inline constexpr std::int32_t kRowsOfChannelGroup = 32;

KVPLAN_BOTH constexpr int code_bits(Format format) {
  return format == Format::kFp8 || format == Format::kInt8 ? 8 : format == Format::kKivi2 ? 2 : 4;
}
/// Channels of a row that share side data; D if all do. Not for `by_channel`.
KVPLAN_BOTH constexpr int group_channels(Format format, int head_size) {
  return format == Format::kInt4                                ? 64
         : format == Format::kNvfp4                             ? 16
         : format == Format::kKivi4 || format == Format::kKivi2 ? 32
                                                                : head_size;
}
KVPLAN_BOTH constexpr bool has_zero(Format format) {
  return format == Format::kInt4 || format == Format::kKivi4 || format == Format::kKivi2;
}

/// a * b + c, rounded twice.
KVPLAN_BOTH inline float times_plus(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(__fmul_rn(a, b), c);
#else
  return a * b + c;
#endif
}
/// Rounds to the nearest whole number, ties to even. REQUIRES: |x| < 2^22.
KVPLAN_BOTH inline float nearest(float x) {
  constexpr float kShift = 12'582'912.0F;  // 1.5 * 2^23
#ifdef __CUDA_ARCH__
  return __fadd_rn(__fadd_rn(x, kShift), -kShift);
#else
  return (x + kShift) - kShift;
#endif
}
KVPLAN_BOTH inline float bounded(float x, float low, float high) {
  return x < low ? low : x > high ? high : x;
}

/// Magnitudes 0, 0.5, 1, 1.5, 2, 3, 4, 6; the sign is bit 3.
KVPLAN_BOTH inline std::uint32_t fp4_bits(float x) {
  const std::uint32_t bits = float_bits(x);
  const float m = float_of_bits(bits & 0x7FFF'FFFFU);
  const int code =
      (m > 0.25F) + (m >= 0.75F) + (m > 1.25F) + (m >= 1.75F) + (m > 2.5F) + (m >= 3.5F) + (m > 5.0F);
  return static_cast<std::uint32_t>(code) | ((bits >> 28) & 8U);
}
KVPLAN_BOTH inline float fp4_value(std::uint32_t bits) {
  const std::uint32_t m = bits & 7U;
  const float magnitude = m < 2
                              ? static_cast<float>(m) * 0.5F
                              : static_cast<float>(2 + (m & 1U)) * static_cast<float>(1U << (m >> 1)) * 0.25F;
  return float_of_bits(float_bits(magnitude) | ((bits & 8U) << 28));
}

/// Input for a group's codes: its scale as stored, and its zero point.
struct ScaleZero {
  std::uint32_t scale_bits, zero_bits;
  float scale, zero;
};

KVPLAN_BOTH inline ScaleZero scale_between(float least, float greatest, int bits) {
  ScaleZero out;
  out.scale_bits = fp16_bits((greatest - least) / static_cast<float>((1 << bits) - 1));
  out.zero_bits = fp16_bits(least + 0.0F);  // of -0 and 0 either may be the minimum: 0 is stored
  out.scale = fp16_value(static_cast<std::uint16_t>(out.scale_bits));
  out.zero = fp16_value(static_cast<std::uint16_t>(out.zero_bits));
  return out;
}

/// `least` and `greatest`: of the group's numbers.
KVPLAN_BOTH inline ScaleZero scale_of(Format format, float least, float greatest, float tensor_scale) {
  const float most = greatest > -least ? greatest : 0.0F - least;
  if (format == Format::kInt8) {
    const std::uint16_t bits = fp16_bits(most / 127.0F);
    return {bits, 0, fp16_value(bits), 0};
  }
  if (format == Format::kNvfp4) {
    const std::uint8_t bits = fp8_bits(most / (6.0F * tensor_scale));
    return {bits, 0, fp8_value(bits) * tensor_scale, 0};
  }
  if (format == Format::kFp8) return {0, 0, tensor_scale, 0};
  return scale_between(least, greatest, code_bits(format));
}

KVPLAN_BOTH inline ScaleZero stored_scale(Format format, const void* side, std::int64_t group,
                                          float tensor_scale) {
  ScaleZero out{0, 0, tensor_scale, 0};
  if (format == Format::kNvfp4)
    out.scale = fp8_value(static_cast<const std::uint8_t*>(side)[group]) * tensor_scale;
  if (format == Format::kInt8) out.scale = fp16_value(static_cast<const std::uint16_t*>(side)[group]);
  if (has_zero(format)) {
    out.scale = fp16_value(static_cast<const std::uint16_t*>(side)[2 * group]);
    out.zero = fp16_value(static_cast<const std::uint16_t*>(side)[2 * group + 1]);
  }
  return out;
}
KVPLAN_BOTH inline void store_scale(Format format, void* side, std::int64_t group, const ScaleZero& of) {
  if (format == Format::kNvfp4)
    static_cast<std::uint8_t*>(side)[group] = static_cast<std::uint8_t>(of.scale_bits);
  if (format == Format::kInt8)
    static_cast<std::uint16_t*>(side)[group] = static_cast<std::uint16_t>(of.scale_bits);
  if (has_zero(format)) {
    static_cast<std::uint16_t*>(side)[2 * group] = static_cast<std::uint16_t>(of.scale_bits);
    static_cast<std::uint16_t*>(side)[2 * group + 1] = static_cast<std::uint16_t>(of.zero_bits);
  }
}

KVPLAN_BOTH inline std::uint32_t code_of(Format format, float x, const ScaleZero& of) {
  if (format == Format::kFp8) return fp8_bits(x / of.scale);
  if (format == Format::kNvfp4) return fp4_bits(of.scale > 0 ? x / of.scale : x * 0.0F);
  if (!(of.scale > 0)) return 0;
  if (format == Format::kInt8)
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(nearest(bounded(x / of.scale, -128, 127)))) &
           0xFFU;
  const auto most = static_cast<float>((1 << code_bits(format)) - 1);
  return static_cast<std::uint32_t>(
      static_cast<std::int32_t>(nearest(bounded((x - of.zero) / of.scale, 0, most))));
}
KVPLAN_BOTH inline float value_of_code(Format format, std::uint32_t code, const ScaleZero& of) {
  if (format == Format::kFp8) return fp8_value(static_cast<std::uint8_t>(code)) * of.scale;
  if (format == Format::kNvfp4) return fp4_value(code) * of.scale;
  if (format == Format::kInt8) return static_cast<float>(static_cast<std::int8_t>(code)) * of.scale;
  return times_plus(static_cast<float>(code), of.scale, of.zero);
}

}  // namespace kvplan::validator
