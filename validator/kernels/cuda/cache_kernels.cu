// Appending, compaction and swapping on CUDA: memory-bound copies of 16 bytes a thread, several under way at once.
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "validator/kernels/cuda/cuda_launch.h"

namespace kvplan::validator {
namespace {

constexpr int kThreads = 256;

/// fp8_bits of both, by the device's own instruction where it has one: the same bits for all numbers but NaN.
__device__ __forceinline__ std::uint32_t fp8_pair(float low, float high) {
  return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, __NV_E4M3);
}

__device__ __forceinline__ std::uint32_t fp8_pair_of(Stored from, std::uint32_t pair, float inverse) {
  const auto low = static_cast<std::uint16_t>(pair), high = static_cast<std::uint16_t>(pair >> 16);
  return fp8_pair(value_of(from, low) * inverse, value_of(from, high) * inverse);
}

/// Eight numbers of one row.
__device__ __forceinline__ void append_piece(const AppendArguments& a, const uint4& x, void* pool,
                                             std::int64_t element, float inverse) {
  if (a.from == a.to) {
    *reinterpret_cast<uint4*>(static_cast<std::uint16_t*>(pool) + element) = x;
    return;
  }
  uint2 out;
  out.x = fp8_pair_of(a.from, x.x, inverse) | fp8_pair_of(a.from, x.y, inverse) << 16;
  out.y = fp8_pair_of(a.from, x.z, inverse) | fp8_pair_of(a.from, x.w, inverse) << 16;
  *reinterpret_cast<uint2*>(static_cast<std::uint8_t*>(pool) + element) = out;
}

__global__ void __launch_bounds__(kThreads) append(const __grid_constant__ AppendArguments a) {
  const int pieces = a.head_size / 8;  // of a row
  const std::int64_t unit = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t of_token = static_cast<std::int64_t>(a.kv_heads) * pieces;
  const std::int64_t token = unit / of_token;
  if (token >= a.tokens) return;
  const auto in_token = static_cast<int>(unit % of_token);
  const int head = in_token / pieces, piece = in_token % pieces;
  const std::int32_t first = __ldg(a.rows + token);
  if (first < 0) return;
  const uint4 k = __ldg(reinterpret_cast<const uint4*>(a.k_new) + unit),
              v = __ldg(reinterpret_cast<const uint4*>(a.v_new) + unit);
  const std::int64_t element =
      (first + static_cast<std::int64_t>(head) * a.head_rows) * a.head_size + piece * 8;
  append_piece(a, k, a.k, element, a.key_inverse);
  append_piece(a, v, a.v, element, a.value_inverse);
}

constexpr int kGatherThreads = 128;
constexpr int kAtOnce = 4;

__global__ void __launch_bounds__(kGatherThreads) gather(const __grid_constant__ GatherArguments a) {
  const GatherPiece piece = a.pieces[blockIdx.x];
  const DecodeReader reader = a.readers[piece.reader];
  const int chunks = a.row_bytes / 16, in_page = (1 << a.page_shift) - 1;
  const int total = (piece.end - piece.begin) * chunks, to_first = __ldg(a.to_first + piece.reader);
  for (int begin = threadIdx.x; begin < total; begin += kAtOnce * kGatherThreads) {
    uint4 k[kAtOnce], v[kAtOnce];
    std::int64_t to[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int unit = begin + i * kGatherThreads;
      to[i] = -1;
      if (unit >= total) continue;
      const int token = piece.begin + unit / chunks, chunk = unit % chunks;
      const int place = __ldg(a.list + reader.first + token);
      const std::int64_t page = __ldg(a.table + reader.table + (place >> a.page_shift));
      const std::int64_t row =
          page * a.page_rows + static_cast<std::int64_t>(reader.kv_head) * a.head_rows + (place & in_page);
      const std::int64_t to_page = __ldg(a.to_table + to_first + (token >> a.page_shift));
      to[i] = ((to_page << a.page_shift) + (token & in_page)) * a.row_bytes + chunk * 16;
      const std::int64_t from = row * a.row_bytes + chunk * 16;
      k[i] = __ldg(reinterpret_cast<const uint4*>(static_cast<const char*>(a.k) + from));
      v[i] = __ldg(reinterpret_cast<const uint4*>(static_cast<const char*>(a.v) + from));
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (to[i] < 0) continue;
      *reinterpret_cast<uint4*>(static_cast<char*>(a.k_to) + to[i]) = k[i];
      *reinterpret_cast<uint4*>(static_cast<char*>(a.v_to) + to[i]) = v[i];
    }
  }
}

__global__ void __launch_bounds__(kThreads) swap_blocks(const __grid_constant__ SwapArguments a) {
  const std::int64_t of_piece = a.bytes / 16, total = a.count * of_piece;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t unit = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; unit < total;
       unit += stride) {
    const SwapPlace place = a.places[unit / of_piece];
    const std::int64_t at = unit % of_piece * 16;
    auto* const device = reinterpret_cast<uint4*>(a.device + place.on_device + at);
    auto* const host = reinterpret_cast<uint4*>(a.host + place.on_host + at);
    if (a.direction == CopyDirection::kIn)
      *device = *host;
    else
      *host = *device;
  }
}

cudaError_t copy_each(const SwapArguments& a, cudaStream_t stream) {
  const bool in = a.direction == CopyDirection::kIn;
  for (std::int64_t i = 0; i < a.count; ++i) {
    char* const device = a.device + a.places[i].on_device;
    char* const host = a.host + a.places[i].on_host;
    const cudaError_t copied =
        cudaMemcpyAsync(in ? device : host, in ? host : device, static_cast<std::size_t>(a.bytes),
                        in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream);
    if (copied != cudaSuccess) return copied;
  }
  return cudaSuccess;
}

cudaError_t copy_batch(const SwapArguments& a, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  const bool in = a.direction == CopyDirection::kIn;
  std::vector<void*> to;
  std::vector<const void*> from;
  for (std::int64_t i = 0; i < a.count; ++i) {
    char* const device = a.device + a.places[i].on_device;
    char* const host = a.host + a.places[i].on_host;
    to.push_back(in ? device : host);
    from.push_back(in ? host : device);
  }
  const std::vector<std::size_t> sizes(to.size(), static_cast<std::size_t>(a.bytes));
  cudaMemcpyAttributes alike{};
  alike.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;
  return cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), to.size(), &alike, &first, 1, stream);
#else
  return copy_each(a, stream);
#endif
}

unsigned blocks_for(std::int64_t units) {
  return static_cast<unsigned>((units + kThreads - 1) / kThreads);
}

}  // namespace

cudaError_t launch_on_cuda(const AppendArguments& a, cudaStream_t stream) {
  if (a.tokens == 0) return cudaSuccess;
  append<<<blocks_for(a.tokens * a.kv_heads * a.head_size / 8), kThreads, 0, stream>>>(a);
  return cudaGetLastError();
}

cudaError_t launch_on_cuda(const GatherArguments& a, cudaStream_t stream) {
  if (a.piece_count == 0) return cudaSuccess;
  gather<<<a.piece_count, kGatherThreads, 0, stream>>>(a);
  return cudaGetLastError();
}

cudaError_t launch_on_cuda(const SwapArguments& a, cudaStream_t stream) {
  if (a.path == CopyPath::kLoop) return copy_each(a, stream);
  if (a.path == CopyPath::kBatch) return copy_batch(a, stream);
  constexpr unsigned kMostBlocks = 256;  // some of the device's threads saturate the link
  const unsigned blocks = std::min(blocks_for(a.count * a.bytes / 16), kMostBlocks);
  swap_blocks<<<blocks, kThreads, 0, stream>>>(a);
  return cudaGetLastError();
}

}  // namespace kvplan::validator
