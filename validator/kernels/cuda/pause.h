// A kernel that keeps a stream busy for some 50 us, while the work to be timed is enqueued behind it.
#pragma once

#include <cuda_runtime_api.h>

namespace kvplan::validator {

cudaError_t launch_pause(cudaStream_t stream);

}  // namespace kvplan::validator
