#include <cuda_runtime.h>

#include <algorithm>

#include "validator/kernels/cuda/cuda_launch.h"
#include "validator/kernels/cuda/pause.h"

namespace kvplan::validator {
namespace {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 4096;
constexpr long long kSpinClocks = 90'000;  // 50 us at 1.8 GHz

__global__ void pause_stream() {
  const long long begin = clock64();
  while (clock64() - begin < kSpinClocks) {
  }
}

template <class T>
__global__ void make_up(T* to, MadeUp of, std::int64_t first, std::int64_t elements) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < elements;
       i += stride)
    to[i] = static_cast<T>(made_up_bits(of, static_cast<std::uint64_t>(first + i)));
}

}  // namespace

cudaError_t make_up_on_cuda(void* to, const MadeUp& of, std::int64_t first, std::int64_t elements,
                            cudaStream_t stream) {
  if (elements == 0) return cudaSuccess;
  const auto blocks =
      static_cast<int>(std::min<std::int64_t>(kMostBlocks, (elements + kThreads - 1) / kThreads));
  if (of.stored == Stored::kFp8)
    make_up<<<blocks, kThreads, 0, stream>>>(static_cast<std::uint8_t*>(to), of, first, elements);
  else
    make_up<<<blocks, kThreads, 0, stream>>>(static_cast<std::uint16_t*>(to), of, first, elements);
  return cudaGetLastError();
}

cudaError_t launch_pause(cudaStream_t stream) {
  pause_stream<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t kernel_architecture(int* architecture) {
  cudaFuncAttributes attributes{};
  const cudaError_t got = cudaFuncGetAttributes(&attributes, make_up<std::uint8_t>);
  if (got == cudaSuccess) *architecture = attributes.binaryVersion;
  return got;
}

}  // namespace kvplan::validator
