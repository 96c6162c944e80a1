// Measured tables: the times of one kernel of an engine on a GPU, for one head size, window and stored element.
// Tables in the folder data are compiled into the program (its README.md has their sources and the form of a file).
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
  std::int64_t window{0};  ///< most tokens that a sequence sees; 0: all
  double kv_elem_bytes{0};
  MeasuredGrid grid;  ///< lengths: cached tokens of a sequence, its new one included
};

/// Parses a table. Errors, with line and field: missing or repeated calls, invalid numbers or head counts.
Result<KernelTable> parse_kernel_table(std::string_view text, const std::string& file);

/// All tables of the program.
std::span<const KernelTable> kernel_tables();

/// A file of simulator/kernels/data.
struct EmbeddedTable {
  std::string_view file, text;
};
std::span<const EmbeddedTable> embedded_tables();

}  // namespace kvplan::kernels
