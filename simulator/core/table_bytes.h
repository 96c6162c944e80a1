// How the bytes of a request's table are used if allocation units do not hold whole tokens (MemoryLayout::form).
//
// Pages: token t has bytes [t x row, (t + 1) x row) of its tensor, so a row may begin in one page and end in the next.
// n tokens need ceil(n x row / page) pages of each tensor. The allocation units of a table come in the order in which
// tokens first need them: by the first token with a byte in the page, then by position in TensorAllocUnits::rows.
//
// Tensors: each has room for a number of tokens and lies in a block with a length that the allocator rounds up. The
// part of the block beyond the tensor belongs to no KV slot.
#pragma once

#include <cstdint>

#include "simulator/core/allocator.h"

namespace kvplan::core {

/// How held bytes are used before anything is written.
struct TableBytes {
  std::int64_t reserved{0};  ///< KV slots that the request will write
  std::int64_t tail{0};      ///< never written, in a page that also has written slots
  std::int64_t internal{0};  ///< never written, not in such a page: tensors longer than the request needs
  std::int64_t padding{0};   ///< no cell maps to it
  friend bool operator==(const TableBytes&, const TableBytes&) = default;
};

/// Allocation units that n tokens need. REQUIRES: form kPages, n >= 0, n x token_bytes fits 62 bits.
[[nodiscard]] std::int64_t pages_under(const MemoryLayout& layout, std::int64_t tokens);
/// Most tokens that a table of this many allocation units holds completely; -1 if no number of tokens needs
/// exactly this many units. REQUIRES: form kPages.
[[nodiscard]] std::int64_t tokens_over(const MemoryLayout& layout, std::int64_t alloc_units);

/// How the bytes of a table with this many allocation units are used, for a request that writes `final_tokens` in all.
/// `tensor_tokens`: length of the tensors, for kTensors. REQUIRES: the form is kPages or kTensors; for kPages, some
/// number of tokens needs exactly this many units.
[[nodiscard]] TableBytes table_bytes(const MemoryLayout& layout, std::int64_t final_tokens,
                                     std::int64_t alloc_units, std::int64_t tensor_tokens);

}  // namespace kvplan::core
