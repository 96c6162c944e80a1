// Instructions of sm_80 and later that CUDA C++ has no name for: asynchronous copies into shared memory, matrix loads
// from it, and products of small matrices on the tensor cores (PTX ISA: cp.async, ldmatrix, mma.m16n8k16).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace kvplan::validator {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Copies 16 bytes, bypassing the first-level cache; zeros if `read` is false.
__device__ __forceinline__ void copy_16(std::uint32_t to, const void* from, bool read) {
  const int bytes = read ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(bytes));
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;\n" ::);
}
/// Waits until at most kPending of the latest committed groups are still in progress.
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending));
}

__device__ __forceinline__ uint4 load_shared_16(std::uint32_t from) {
  uint4 x;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "r"(from));
  return x;
}
/// Four 8 x 8 matrices of 16-bit numbers, each transposed: lane l has rows 2 * (l % 4) and the next of column l / 4.
__device__ __forceinline__ uint4 load_transposed(std::uint32_t from) {
  uint4 x;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "r"(from));
  return x;
}

/// c += a b: a is 16 x 16, b 16 x 8, of bf16 or of fp16.
template <bool kBfloat>
__device__ __forceinline__ void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                             std::uint32_t b1) {
  if constexpr (kBfloat)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <bool kBfloat>
__device__ __forceinline__ std::uint32_t packed(float low, float high) {
  if constexpr (kBfloat) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const std::uint32_t&>(pair);
  } else {
    const __half2 pair = __floats2half2_rn(low, high);
    return reinterpret_cast<const std::uint32_t&>(pair);
  }
}

/// The two e4m3 numbers in the lower half of `bits`, converted exactly to fp16.
__device__ __forceinline__ std::uint32_t halves_of_fp8(std::uint32_t bits) {
  const __half2_raw pair = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(bits), __NV_E4M3);
  return static_cast<std::uint32_t>(pair.x) | (static_cast<std::uint32_t>(pair.y) << 16);
}

/// Programmatic dependent launch (sm_90 and later): lets the next kernel of the stream begin, if its launch allows
/// it.
__device__ __forceinline__ void begin_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;\n" ::);
#endif
}
/// Waits until the kernel before this one has ended and its writes are visible.
__device__ __forceinline__ void wait_for_dependence() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;\n" ::: "memory");
#endif
}

__device__ __forceinline__ float power_of_two_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace kvplan::validator
