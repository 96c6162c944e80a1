// The tensors in which requests keep keys and values, one for the keys and one for the values of each layer (one in all
// where a layer keeps a latent vector), and how long the row of a token is in each. Scales and zero points of a format
// lie in the row, beside the elements that they are for.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/memory/allocators.h"

namespace kvplan::memory {

/// Tensors in a row that are alike, from the first layer to the last.
struct TensorRows {
  std::int64_t row_bytes{0};  ///< of a token
  std::int64_t tensors{0};
  friend bool operator==(const TensorRows&, const TensorRows&) = default;
};

/// Of the request's model on its rank and stage, in its format; one tensor with rows of token_bytes where it names no
/// model. Errors: cells that a token policy widens with data of its own, a format for other layers, or in which keys
/// and values share a byte, rows too long to be counted.
Result<std::vector<TensorRows>> token_rows(const AllocatorRequest& request);

/// Capacity and what is said of one token. Errors: a pool in blocks, or too large to be counted.
Result<core::MemoryLayout> byte_layout(const AllocatorRequest& request);

}  // namespace kvplan::memory
