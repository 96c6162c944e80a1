// Scores on CUDA. Top-k is a radix select: four passes over a row, each of which counts one byte of the scores' ordered
// bits and narrows to the bucket that holds the budget-th; then one pass that writes what is above, and of what is
// equal the first so many, in ascending order.
#include <cuda_runtime.h>

#include <cmath>

#include "validator/kernels/cuda/cuda_launch.h"
#include "validator/kernels/cuda/tensor_cores.cuh"

namespace kvplan::validator {
namespace {

constexpr unsigned kAll = 0xFFFF'FFFFU;
constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) accumulate(const __grid_constant__ AccumulateArguments a) {
  const ScoreRow row = a.rows[blockIdx.y];
  const int v = (static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x)) * 4;
  if (v >= row.tokens) return;
  // Places are padded to fours: what lies behind the last token is read, and not written.
  float4* const place = reinterpret_cast<float4*>(a.acc + row.first + v);
  const float4 before = *place;
  float sum[4] = {before.x, before.y, before.z, before.w};
  for (int g = 0; g < a.group; ++g) {
    const float lse = __ldg(a.lse + row.head + g);
    const float4 x = __ldg(reinterpret_cast<const float4*>(a.logits + (row.head + g) * a.stride + v));
    sum[0] += power_of_two_of(x.x - lse);
    sum[1] += power_of_two_of(x.y - lse);
    sum[2] += power_of_two_of(x.z - lse);
    sum[3] += power_of_two_of(x.w - lse);
  }
  if (v + 4 <= row.tokens) {
    *place = make_float4(sum[0], sum[1], sum[2], sum[3]);
    return;
  }
  for (int i = 0; i < row.tokens - v; ++i) a.acc[row.first + v + i] = sum[i];
}

constexpr int kRowThreads = 512;
constexpr int kWarps = kRowThreads / 32;
constexpr int kEach = 4;  // tokens of a thread in the last pass

/// How many of the block's threads before this one hold how many; `total`: of all. All threads call it.
__device__ __forceinline__ int before_this(int own, int* warps, int& total) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(kAll, sum, step);
    if (lane >= step) sum += other;
  }
  __syncthreads();
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  int ahead = 0;
  total = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp) ahead += warps[w];
    total += warps[w];
  }
  return ahead + sum - own;
}

__global__ void __launch_bounds__(kRowThreads) top_k(const __grid_constant__ TopKArguments a) {
  __shared__ int counts[256];
  __shared__ int warps[kWarps];
  __shared__ unsigned chosen;
  __shared__ int left;
  const ScoreRow row = a.rows[blockIdx.x];
  const float* const scores = a.scores + row.first;
  std::int32_t* const kept = a.kept + static_cast<std::int64_t>(blockIdx.x) * a.budget;
  if (row.tokens <= a.budget) {
    for (int i = threadIdx.x; i < a.budget; i += kRowThreads) kept[i] = i < row.tokens ? i : -1;
    return;
  }
  unsigned prefix = 0, mask = 0;
  int need = a.budget;  // of those that agree with the prefix
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (int i = threadIdx.x; i < 256; i += kRowThreads) counts[i] = 0;
    __syncthreads();
    for (int v = threadIdx.x; v < row.tokens; v += kRowThreads) {
      const unsigned key = in_order(scores[v]);
      if ((key & mask) == prefix) atomicAdd(&counts[key >> shift & 255U], 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int above = 0, digit = 255;
      while (above + counts[digit] < need) above += counts[digit--];
      chosen = static_cast<unsigned>(digit);
      left = need - above;
    }
    __syncthreads();
    prefix |= chosen << shift;
    mask |= 255U << shift;
    need = left;
    __syncthreads();
  }
  int written = 0, equals = 0;  // by chunks before
  for (int begin = 0; begin < row.tokens; begin += kRowThreads * kEach) {
    const int first = begin + static_cast<int>(threadIdx.x) * kEach;
    unsigned keys[kEach];
    int own_equals = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      keys[i] = first + i < row.tokens ? in_order(scores[first + i]) : 0;
      own_equals += first + i < row.tokens && keys[i] == prefix ? 1 : 0;
    }
    int total = 0;
    int equal = equals + before_this(own_equals, warps, total);
    equals += total;
    bool keep[kEach];
    int own = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const bool there = first + i < row.tokens;
      keep[i] = there && (keys[i] > prefix || (keys[i] == prefix && equal < need));
      equal += there && keys[i] == prefix ? 1 : 0;
      own += keep[i] ? 1 : 0;
    }
    int place = written + before_this(own, warps, total);
    written += total;
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      if (keep[i]) kept[place++] = first + i;
  }
}

}  // namespace

cudaError_t launch_on_cuda(const AccumulateArguments& a, cudaStream_t stream) {
  if (a.row_count == 0 || a.most_tokens == 0) return cudaSuccess;
  const int blocks = (a.most_tokens + kThreads * 4 - 1) / (kThreads * 4);
  accumulate<<<dim3(blocks, a.row_count), kThreads, 0, stream>>>(a);
  return cudaGetLastError();
}

cudaError_t launch_on_cuda(const TopKArguments& a, cudaStream_t stream) {
  if (a.row_count == 0) return cudaSuccess;
  top_k<<<a.row_count, kRowThreads, 0, stream>>>(a);
  return cudaGetLastError();
}

}  // namespace kvplan::validator
