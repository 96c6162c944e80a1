// A digest of this file names the build of the kernels (software.kernel_build): times of another are not joined.
#include <cuda_runtime.h>

#include <cstdint>

#include "validator/probe/cuda/probe_kernels.h"

namespace kvplan::validator {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 8;            // all threads that a multiprocessor holds
constexpr long long kSpinClocks = 60'000;  // 30 us at 2 GHz

__global__ void nothing() {}

__global__ void spin() {
  const long long begin = clock64();
  while (clock64() - begin < kSpinClocks) {
  }
}

__device__ unsigned mixed(std::uint64_t x) {
  x = (x + 1) * 0x9E37'79B9'7F4A'7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBULL;
  return static_cast<unsigned>(x >> 32);
}

__global__ void fill(uint4* to, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    to[i] = make_uint4(mixed(4 * i), mixed(4 * i + 1), mixed(4 * i + 2), mixed(4 * i + 3));
}

__device__ unsigned folded(const uint4& v) {
  return v.x ^ v.y ^ v.z ^ v.w;
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    read(const uint4* __restrict__ from, std::size_t count, unsigned* sink) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  unsigned sum = 0;
  for (; i + 3 * stride < count; i += 4 * stride) {  // four loads under way in each thread
    const uint4 a = from[i], b = from[i + stride], c = from[i + 2 * stride], d = from[i + 3 * stride];
    sum += folded(a) + folded(b) + folded(c) + folded(d);
  }
  for (; i < count; i += stride) sum += folded(from[i]);
  if (sum == 0x5EED'1234U) *sink = sum;  // rarely true, but the compiler cannot know that
}

}  // namespace

cudaError_t launch_nothing(cudaStream_t stream) {
  nothing<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t launch_spin(cudaStream_t stream) {
  spin<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t launch_fill(void* to, std::size_t bytes, int sm_count, cudaStream_t stream) {
  fill<<<static_cast<unsigned>(sm_count * kBlocksPerSm), kThreads, 0, stream>>>(static_cast<uint4*>(to),
                                                                                bytes / sizeof(uint4));
  return cudaGetLastError();
}

cudaError_t launch_read(const void* from, std::size_t bytes, unsigned* sink, int sm_count,
                        cudaStream_t stream) {
  read<<<static_cast<unsigned>(sm_count * kBlocksPerSm), kThreads, 0, stream>>>(
      static_cast<const uint4*>(from), bytes / sizeof(uint4), sink);
  return cudaGetLastError();
}

cudaError_t architecture_of_kernels(int* architecture) {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, read);
  *architecture = attributes.binaryVersion;
  return error;
}

}  // namespace kvplan::validator
