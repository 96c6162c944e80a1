// The measured tables that are compiled into the program: simulator/kernels/tables, compressed files named
// KIND-GPU-ENGINE-VERSION.csv.gz (its README has their sources).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::kernels {

struct PackedTable {
  std::string_view kind, gpu, engine, engine_version;
  std::string_view file;
  std::span<const unsigned char> bytes;  ///< gzip
};

/// All packed tables, sorted by file name.
std::span<const PackedTable> packed_tables();

/// The text of a table. Stops the program if the bytes are not gzip, since they are part of the program.
std::string unpack(const PackedTable& table);

/// The table of that kind and engine for any of these GPU names, in version `engine_version` if there is one, else in
/// the newest version. Null if there is no table.
const PackedTable* find_packed(std::string_view kind, std::span<const std::string> gpu_names,
                               std::string_view engine, std::string_view engine_version);

}  // namespace kvplan::kernels
