// Converts return codes of the CUDA runtime to errors, and finds out whether there is a device at all.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "simulator/base/result.h"

namespace kvplan::validator {

inline Status checked(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Done{};
  (void)cudaGetLastError();  // clears the error, so that the next call does not return it
  return bad_input(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
}

/// Checks that there is a CUDA device, without making a context. The error states the purpose: "to replay on".
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

/// Version 13000 as "13.0".
inline std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace kvplan::validator
