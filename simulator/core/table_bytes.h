// What the bytes of a request's table are for where allocation units are not of whole tokens (MemoryLayout::form).
//
// Pages: token t has bytes [t x row, (t + 1) x row) of its tensor, so that a row may begin in one page and end in the
// next. n tokens need ceil(n x row / page) pages of each tensor. The allocation units of a table are in the order in
// which tokens come to need them: by first token with a byte in the page, then by place in TensorAllocUnits::rows.
//
// Tensors: each is so many tokens long and lies in a block whose length the allocator rounds; what is more than the
// tensor is nobody's cell.
#pragma once

#include <cstdint>

#include "simulator/core/allocator.h"

namespace kvplan::core {

/// Of bytes that are held, before anything is written.
struct TableBytes {
  std::int64_t reserved{0};  ///< cells that the request will write
  std::int64_t tail{0};      ///< never written, in a page with cells that are
  std::int64_t internal{0};  ///< never written otherwise: tensors longer than the request
  std::int64_t padding{0};   ///< no cell maps to it
  friend bool operator==(const TableBytes&, const TableBytes&) = default;
};

/// Allocation units under n tokens. REQUIRES: form kPages, n >= 0, n x token_bytes fits 62 bits.
[[nodiscard]] std::int64_t pages_under(const MemoryLayout& layout, std::int64_t tokens);
/// Most tokens that a table of so many allocation units holds whole; -1 where no number of tokens needs just as many.
/// REQUIRES: form kPages.
[[nodiscard]] std::int64_t tokens_over(const MemoryLayout& layout, std::int64_t alloc_units);

/// Of a table of so many allocation units, of a request that writes `final_tokens` in all. `tensor_tokens`: how long
/// the tensors are, for kTensors. REQUIRES: the form is kPages or kTensors; of pages, some number of tokens needs
/// just as many.
[[nodiscard]] TableBytes table_bytes(const MemoryLayout& layout, std::int64_t final_tokens,
                                     std::int64_t alloc_units, std::int64_t tensor_tokens);

}  // namespace kvplan::core
