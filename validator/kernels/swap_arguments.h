// Copies blocks between pinned host memory and the device: `count` pieces of `bytes` each, scattered on both sides, in
// one of three ways.
//
//   loop    a cudaMemcpyAsync for each
//   batch   one cudaMemcpyBatchAsync (CUDA 13; as `loop` if the toolkit does not have it)
//   kernel  a kernel that reads or writes the pinned memory itself, 16 bytes per thread
//
// The fastest way depends on bytes and count: vLLM #42212 and #57555 have tables. `places` is in pinned memory too, so
// that host and kernel read the same list.
#pragma once

#include <cstdint>

#include "validator/kernels/case.h"

namespace kvplan::validator {

/// The two places of a piece, in bytes from the beginnings of the two memories.
struct SwapPlace {
  std::int64_t on_device, on_host;
};

struct SwapArguments {
  const SwapPlace* places;
  char* device;
  char* host;
  std::int64_t count;
  std::int64_t bytes;  ///< bytes of each piece; a multiple of 16
  CopyDirection direction;
  CopyPath path;
};

}  // namespace kvplan::validator
