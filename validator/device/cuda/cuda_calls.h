// Return codes of the CUDA runtime as errors, and whether there is a device at all.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "simulator/base/result.h"

namespace kvplan::validator {

inline Status checked(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Done{};
  (void)cudaGetLastError();  // not to be met again by the next call
  return bad_input(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
}

/// Makes no context. The error says what the device was wanted for: "to replay on".
inline Status expect_cuda_device(const char* purpose) {
  int driver = 0;
  int count = 0;
  (void)cudaDriverGetVersion(&driver);
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found == cudaSuccess && count > 0) return Done{};
  (void)cudaGetLastError();
  const std::string why = found == cudaSuccess ? "no device is visible"
                          : driver == 0        ? "no driver is installed"
                                               : cudaGetErrorString(found);
  return bad_input(std::string("no CUDA device ") + purpose + ": " + why);
}

/// "13.0" of 13000.
inline std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace kvplan::validator
