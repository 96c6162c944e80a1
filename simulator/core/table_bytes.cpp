#include "simulator/core/table_bytes.h"

#include <algorithm>

namespace kvplan::core {
namespace {

std::int64_t pages_of_row(std::int64_t page_bytes, const TokenRow& row, std::int64_t tokens) {
  return static_cast<std::int64_t>((Wide{tokens} * row.bytes + page_bytes - 1) / page_bytes);
}

/// Number of tokens with rows that lie completely in this many pages.
std::int64_t whole_tokens(std::int64_t page_bytes, const TokenRow& row, std::int64_t pages) {
  return static_cast<std::int64_t>(Wide{pages} * page_bytes / row.bytes);
}

}  // namespace

std::int64_t pages_under(const MemoryLayout& layout, std::int64_t tokens) {
  const TensorAllocUnits& of = layout.tensors;
  std::int64_t alloc_units = 0;
  for (const TokenRow& row : of.rows)
    alloc_units += row.alloc_units * pages_of_row(of.page_bytes, row, tokens);
  return alloc_units;
}

std::int64_t tokens_over(const MemoryLayout& layout, std::int64_t alloc_units) {
  const TensorAllocUnits& of = layout.tensors;
  if (of.rows.size() == 1) {
    const TokenRow& row = of.rows.front();
    return alloc_units % row.alloc_units == 0
               ? whole_tokens(of.page_bytes, row, alloc_units / row.alloc_units)
               : -1;
  }
  // An upper bound of the search: the tokens that the table could hold if the other rows needed nothing.
  std::int64_t low = 0;
  std::int64_t high = INT64_MAX;
  for (const TokenRow& row : of.rows)
    high = std::min(high, whole_tokens(of.page_bytes, row, alloc_units / row.alloc_units));
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (pages_under(layout, middle) <= alloc_units) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return pages_under(layout, low) == alloc_units ? low : -1;
}

TableBytes table_bytes(const MemoryLayout& layout, std::int64_t final_tokens, std::int64_t alloc_units,
                       std::int64_t tensor_tokens) {
  TableBytes out;
  if (alloc_units == 0) return out;
  const std::int64_t all = alloc_units * layout.alloc_unit_bytes();
  if (layout.form == TableForm::kTensors) {
    out.reserved = final_tokens * layout.token_bytes;
    out.internal = (tensor_tokens - final_tokens) * layout.token_bytes;
    out.padding = all - tensor_tokens * layout.token_bytes;
    return out;
  }
  const std::int64_t tokens = tokens_over(layout, alloc_units);
  KVPLAN_CHECK(tokens >= 0, alloc_units);
  const TensorAllocUnits& of = layout.tensors;
  const std::int64_t tensors = of.alloc_unit_bytes / of.page_bytes;  // in one allocation unit
  for (const TokenRow& row : of.rows) {
    const std::int64_t pages = pages_of_row(of.page_bytes, row, tokens);
    const auto written = std::min(Wide{final_tokens} * row.bytes, Wide{pages} * of.page_bytes);
    out.reserved += static_cast<std::int64_t>(written) * row.alloc_units * tensors;
  }
  out.tail = all - out.reserved;
  return out;
}

}  // namespace kvplan::core
