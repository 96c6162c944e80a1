// Shared by the tests of kernel times.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/kernels/decode_times.h"

namespace kvplan::kernels::testing {

/// All measured calls of a grid.
inline std::vector<MeasuredCall> calls_of(const MeasuredGrid& grid) {
  const GridAxes& axes = grid.axes();
  std::vector<MeasuredCall> out;
  for (std::size_t i = 0; i < grid.places(); ++i) {
    const GridPlace p = grid.place(i);
    if (grid.at(p) > 0)
      out.push_back({axes.batches[p.batch], axes.lengths[p.length], axes.kv_heads[p.kv_heads],
                     axes.groups[p.group], grid.at(p)});
  }
  return out;
}

/// The request for a call of a table.
inline DecodeCall asked(const KernelTable& table, const MeasuredCall& call) {
  return {.batch = call.batch,
          .kv_len = call.length,
          .q_heads = call.kv_heads * call.group,
          .kv_heads = call.kv_heads,
          .head_dim = table.head_dim,
          .window = table.window,
          .kv_elem_bytes = table.kv_elem_bytes};
}

/// A table of a made-up GPU, 128-element heads and 2-byte elements.
inline KernelTable made_up(const std::vector<MeasuredCall>& calls, std::int64_t window = 0) {
  return {.gpu = "G",
          .engine = "e",
          .engine_version = "1.2",
          .kernel = "k",
          .head_dim = 128,
          .window = window,
          .kv_elem_bytes = 2,
          .grid = MeasuredGrid::make(calls).value()};
}

inline TableNames names_of(const KernelTable& table) {
  return {{table.gpu}, table.engine, table.engine_version};
}

}  // namespace kvplan::kernels::testing
