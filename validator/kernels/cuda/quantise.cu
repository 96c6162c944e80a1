// Quantising and dequantising on CUDA. A lane has four neighbouring channels of a row; groups within a row are reduced
// by shuffles. By channel a lane keeps its channels of 32 rows in registers. What decides bytes is
// quantise_arguments.h's own text; only fp8 is rounded by the device's instruction, which gives the same bits.
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "validator/kernels/cuda/cuda_launch.h"

namespace kvplan::validator {
namespace {

constexpr unsigned kAll = 0xFFFF'FFFFU;
constexpr int kThreads = 256;

__device__ __forceinline__ void unpack(Stored from, const uint2& bits, float (&x)[4]) {
  const std::uint32_t words[2] = {bits.x, bits.y};
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = value_of(from, static_cast<std::uint16_t>(words[i / 2] >> (i % 2 * 16)));
}

template <Format kFormat>
__device__ __forceinline__ std::uint32_t code(float x, const ScaleZero& of) {
  if constexpr (kFormat == Format::kFp8)
    return __nv_cvt_float_to_fp8(x / of.scale, __NV_SATFINITE, __NV_E4M3);
  return code_of(kFormat, x, of);
}

/// Four codes of one row, at the lane's place.
template <Format kFormat>
__device__ __forceinline__ void store_codes(std::uint8_t* row, int lane_of_row,
                                            const std::uint32_t (&codes)[4]) {
  constexpr int kBits = code_bits(kFormat);
  std::uint32_t word = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) word |= codes[i] << (i * kBits);
  if constexpr (kBits == 8)
    reinterpret_cast<std::uint32_t*>(row)[lane_of_row] = word;
  else if constexpr (kBits == 4)
    reinterpret_cast<std::uint16_t*>(row)[lane_of_row] = static_cast<std::uint16_t>(word);
  else
    row[lane_of_row] = static_cast<std::uint8_t>(word);
}
template <Format kFormat>
__device__ __forceinline__ std::uint32_t load_codes(const std::uint8_t* row, int lane_of_row) {
  constexpr int kBits = code_bits(kFormat);
  if constexpr (kBits == 8) return reinterpret_cast<const std::uint32_t*>(row)[lane_of_row];
  if constexpr (kBits == 4) return reinterpret_cast<const std::uint16_t*>(row)[lane_of_row];
  return row[lane_of_row];
}

template <Format kFormat, int kSize>
__global__ void __launch_bounds__(kThreads) quantise_rows(const __grid_constant__ QuantiseArguments a) {
  constexpr int kLanes = kSize / 4, kWidth = group_channels(kFormat, kSize), kBits = code_bits(kFormat);
  const int lane = threadIdx.x % kLanes;
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kLanes;
  const bool there = row < a.rows;
  float x[4] = {};
  if (there) unpack(a.from, reinterpret_cast<const uint2*>(a.numbers)[row * kLanes + lane], x);
  float least = fminf(fminf(x[0], x[1]), fminf(x[2], x[3])),
        greatest = fmaxf(fmaxf(x[0], x[1]), fmaxf(x[2], x[3]));
#pragma unroll
  for (int step = 1; step < kWidth / 4; step *= 2) {
    least = fminf(least, __shfl_xor_sync(kAll, least, step));
    greatest = fmaxf(greatest, __shfl_xor_sync(kAll, greatest, step));
  }
  if (!there) return;
  const ScaleZero scale = scale_of(kFormat, least, greatest, a.tensor_scale);
  if (lane % (kWidth / 4) == 0) store_scale(kFormat, a.side, (row * kSize + lane * 4) / kWidth, scale);
  std::uint32_t codes[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) codes[i] = code<kFormat>(x[i], scale);
  store_codes<kFormat>(a.codes + row * (kSize * kBits / 8), lane, codes);
}

template <Format kFormat, int kSize>
__global__ void __launch_bounds__(kThreads) quantise_channels(const __grid_constant__ QuantiseArguments a) {
  constexpr int kLanes = kSize / 4, kBits = code_bits(kFormat);
  const int lane = threadIdx.x % kLanes;
  const std::int64_t group = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kLanes;
  const std::int64_t first = group * kRowsOfChannelGroup;
  if (first >= a.rows) return;
  uint2 bits[kRowsOfChannelGroup];
#pragma unroll
  for (int i = 0; i < kRowsOfChannelGroup; ++i)
    bits[i] = reinterpret_cast<const uint2*>(a.numbers)[(first + i) * kLanes + lane];
  float least[4], greatest[4], x[4];
  unpack(a.from, bits[0], least);
  unpack(a.from, bits[0], greatest);
#pragma unroll
  for (int i = 1; i < kRowsOfChannelGroup; ++i) {
    unpack(a.from, bits[i], x);
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      least[c] = fminf(least[c], x[c]);
      greatest[c] = fmaxf(greatest[c], x[c]);
    }
  }
  ScaleZero scales[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    scales[c] = scale_of(kFormat, least[c], greatest[c], a.tensor_scale);
    store_scale(kFormat, a.side, group * kSize + lane * 4 + c, scales[c]);
  }
#pragma unroll
  for (int i = 0; i < kRowsOfChannelGroup; ++i) {
    unpack(a.from, bits[i], x);
    std::uint32_t codes[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) codes[c] = code<kFormat>(x[c], scales[c]);
    store_codes<kFormat>(a.codes + (first + i) * (kSize * kBits / 8), lane, codes);
  }
}

template <Format kFormat, int kSize>
__global__ void __launch_bounds__(kThreads) dequantise(const __grid_constant__ QuantiseArguments a) {
  constexpr int kLanes = kSize / 4, kWidth = group_channels(kFormat, kSize), kBits = code_bits(kFormat);
  const int lane = threadIdx.x % kLanes;
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kLanes;
  if (row >= a.rows) return;
  const std::uint32_t word = load_codes<kFormat>(a.codes + row * (kSize * kBits / 8), lane);
  ScaleZero scale = stored_scale(kFormat, a.side, (row * kSize + lane * 4) / kWidth, a.tensor_scale);
  std::uint32_t out[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (a.by_channel)
      scale = stored_scale(kFormat, a.side, row / kRowsOfChannelGroup * kSize + lane * 4 + c, a.tensor_scale);
    out[c] = bits_of(a.from, value_of_code(kFormat, word >> (c * kBits) & ((1U << kBits) - 1), scale));
  }
  reinterpret_cast<uint2*>(a.numbers)[row * kLanes + lane] =
      make_uint2(out[0] | out[1] << 16, out[2] | out[3] << 16);
}

template <Format kFormat, int kSize>
cudaError_t launch_size(const QuantiseArguments& a, cudaStream_t stream) {
  constexpr std::int64_t kRows = kThreads / (kSize / 4);  // of a block
  const std::int64_t rows = a.by_channel && !a.back ? a.rows / kRowsOfChannelGroup : a.rows;
  const auto blocks = static_cast<unsigned>((rows + kRows - 1) / kRows);
  if (a.back)
    dequantise<kFormat, kSize><<<blocks, kThreads, 0, stream>>>(a);
  else if (a.by_channel)
    quantise_channels<kFormat, kSize><<<blocks, kThreads, 0, stream>>>(a);
  else
    quantise_rows<kFormat, kSize><<<blocks, kThreads, 0, stream>>>(a);
  return cudaGetLastError();
}

template <Format kFormat>
cudaError_t launch_format(const QuantiseArguments& a, cudaStream_t stream) {
  return a.head_size == 64 ? launch_size<kFormat, 64>(a, stream) : launch_size<kFormat, 128>(a, stream);
}

}  // namespace

cudaError_t launch_on_cuda(const QuantiseArguments& a, cudaStream_t stream) {
  if (a.rows == 0) return cudaSuccess;
  switch (a.format) {
    case Format::kFp8:
      return launch_format<Format::kFp8>(a, stream);
    case Format::kInt8:
      return launch_format<Format::kInt8>(a, stream);
    case Format::kInt4:
      return launch_format<Format::kInt4>(a, stream);
    case Format::kKivi4:
      return launch_format<Format::kKivi4>(a, stream);
    case Format::kKivi2:
      return launch_format<Format::kKivi2>(a, stream);
    case Format::kNvfp4:
      return launch_format<Format::kNvfp4>(a, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace kvplan::validator
