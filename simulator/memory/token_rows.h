// The tensors in which requests store keys and values, and the length of a token's row in each: one tensor for
// keys and one for values in each layer (one in all where a layer stores a latent vector). Scales and zero points
// of a format lie in the row, beside their elements.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/memory/allocators.h"

namespace kvplan::memory {

/// Consecutive tensors with equal rows, from the first layer to the last.
struct TensorRows {
  std::int64_t row_bytes{0};  ///< bytes of a token in one tensor
  std::int64_t tensors{0};
  friend bool operator==(const TensorRows&, const TensorRows&) = default;
};

/// The rows of the request's model on its rank and stage, in its format. If no model is named: one tensor with rows of
/// token_bytes. Errors: a token policy that adds its own data to each cell, a format for other layers, keys and values
/// that share a byte, rows that are too long.
Result<std::vector<TensorRows>> token_rows(const AllocatorRequest& request);

/// The pool's capacity, and the layout of one token. Errors: a pool given in blocks, or a pool that is too large.
Result<core::MemoryLayout> byte_layout(const AllocatorRequest& request);

}  // namespace kvplan::memory
