// The kernels of the probe: functions that enqueue them and return their status.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace kvplan::validator {

cudaError_t launch_nothing(cudaStream_t stream);
/// Runs for some tens of microseconds: longer than it takes to enqueue the timed work behind it.
cudaError_t launch_spin(cudaStream_t stream);
/// Fills memory with random numbers, not zeros, so that copies and reads cost as much as with real data. REQUIRES:
/// `bytes` is a multiple of 16.
cudaError_t launch_fill(void* to, std::size_t bytes, int sm_count, cudaStream_t stream);
/// Reads everything in pieces of 16 bytes; `sink` has room for a number, which may or may not be written. REQUIRES:
/// as above.
cudaError_t launch_read(const void* from, std::size_t bytes, unsigned* sink, int sm_count,
                        cudaStream_t stream);

/// Architecture of the code that the device runs: 90 for sm_90.
cudaError_t architecture_of_kernels(int* architecture);

}  // namespace kvplan::validator
