// The kernels on a CUDA device: each call enqueues one launch in a stream and returns the runtime's error code.
#pragma once

#include <cuda_runtime_api.h>

#include "validator/kernels/launch.h"

namespace kvplan::validator {

cudaError_t launch_on_cuda(const DecodeArguments& a, cudaStream_t stream);
cudaError_t launch_on_cuda(const CombineArguments& a, cudaStream_t stream);
cudaError_t launch_on_cuda(const AppendArguments& a, cudaStream_t stream);
cudaError_t launch_on_cuda(const GatherArguments& a, cudaStream_t stream);
cudaError_t launch_on_cuda(const SwapArguments& a, cudaStream_t stream);
cudaError_t launch_on_cuda(const AccumulateArguments& a, cudaStream_t stream);
cudaError_t launch_on_cuda(const TopKArguments& a, cudaStream_t stream);
cudaError_t launch_on_cuda(const QuantiseArguments& a, cudaStream_t stream);

/// Implements Machine::make_up.
cudaError_t make_up_on_cuda(void* to, const MadeUp& of, std::int64_t first, std::int64_t elements,
                            cudaStream_t stream);

/// Compute architecture for which these kernels were compiled, on the current device: 90 for sm_90.
cudaError_t kernel_architecture(int* architecture);

}  // namespace kvplan::validator
