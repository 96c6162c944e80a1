// Measured tables: the times of one kernel of an engine on a GPU, for one head size, window and stored element.
// Those of the folder data are part of the program (its README.md says where they are from and what a file looks like).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/kernels/measured_grid.h"

namespace kvplan::kernels {

struct KernelTable {
  std::string gpu, engine, engine_version, kernel;
  std::int64_t head_dim{0};
  std::int64_t window{0};  ///< tokens that a sequence sees at most; 0: all
  double kv_elem_bytes{0};
  MeasuredGrid grid;  ///< lengths: cached tokens of a sequence with its new one
};

/// Reads a table's text. Errors: what is missing, twice, no number or no head count, with line and field.
Result<KernelTable> parse_kernel_table(std::string_view text, const std::string& file);

/// All tables of the program.
std::span<const KernelTable> kernel_tables();

/// A file of simulator/kernels/data.
struct EmbeddedTable {
  std::string_view file, text;
};
std::span<const EmbeddedTable> embedded_tables();

}  // namespace kvplan::kernels
