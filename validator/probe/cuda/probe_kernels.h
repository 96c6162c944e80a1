// The kernels of the probe: calls that enqueue them and say whether that went well.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace kvplan::validator {

cudaError_t launch_nothing(cudaStream_t stream);
/// Some tens of microseconds: longer than it takes to enqueue what is timed behind it.
cudaError_t launch_spin(cudaStream_t stream);
/// Random numbers, never zeros: what is copied and read should cost what real data cost. REQUIRES: `bytes` is a
/// multiple of 16.
cudaError_t launch_fill(void* to, std::size_t bytes, int sm_count, cudaStream_t stream);
/// Reads all in pieces of 16 bytes; `sink` has room for a number, which may or may not be written. REQUIRES: as above.
cudaError_t launch_read(const void* from, std::size_t bytes, unsigned* sink, int sm_count,
                        cudaStream_t stream);

/// Of the code that the device runs: 90 of sm_90.
cudaError_t architecture_of_kernels(int* architecture);

}  // namespace kvplan::validator
